// The TypeScript client in one era: `typescript.mjs URL MODE [TOKEN]` with MODE `legacy` or `auto`. Prints one JSON object.
// It writes, reads, and hears of its own change and of one that it makes by another connection.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, mode, token] = process.argv.slice(2);
const uri = 'memory://knowledge-graph';

async function connected() {
  const client = new Client({ name: 'typescript', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = token ? { headers: { Authorization: `Bearer ${token}` } } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const hearing = await connected();
const writing = await connected();
let heard = 0;
hearing.setNotificationHandler('notifications/resources/updated', () => { heard += 1; });
const version = hearing.getNegotiatedProtocolVersion();
const subscription = version >= '2026'
  ? await hearing.listen({ resourceSubscriptions: [uri] })
  : await hearing.subscribeResource({ uri });

const tools = (await hearing.listTools()).tools.map(tool => tool.name);
// Each change until one is heard: in 2025 the client opens its stream when it likes, and before that nothing can come.
for (let number = 0; number < 200 && !heard; number += 1) {
  await writing.callTool({
    name: 'create_entities',
    arguments: { entities: [{ name: `${mode} ${number}`, entityType: 'thing', observations: ['From TypeScript'] }] },
  });
}
const graph = (await writing.callTool({ name: 'open_nodes', arguments: { names: [`${mode} 0`] } })).structuredContent;
const resource = JSON.parse((await hearing.readResource({ uri })).contents[0].text);
if (subscription?.close) await subscription.close();
await hearing.close();
await writing.close();
console.log(JSON.stringify({ version, tools, heard: heard > 0, graph, entities: resource.entities.length }));
process.exit(0);
