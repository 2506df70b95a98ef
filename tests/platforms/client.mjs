// The TypeScript client against a server on stdio: `client.mjs ERA COMMAND...`, ERA 2025 (the handshake) or 2026.
// Prints one line of JSON: the version agreed on, the tools' names, what was stored and read back; before that it makes
// the calls of CALLS, a list of [tool, arguments].
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.env.CLIENT_FOLDER, 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const [era, command, ...args] = process.argv.slice(2);
const client = new Client(
    { name: 'platforms', version: '1' },
    era === '2026' ? { versionNegotiation: { mode: 'auto' } } : {}
);
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
const { tools } = await client.listTools();
for (const [name, given] of JSON.parse(process.env.CALLS ?? '[]')) {
    const answer = await client.callTool({ name, arguments: given });
    if (answer.isError) throw new Error(JSON.stringify(answer));
}
const entities = [{ name: `Zoë ${era}`, entityType: 'person', observations: ['plays chess'] }];
const created = await client.callTool({ name: 'create_entities', arguments: { entities } });
const read = await client.callTool({ name: 'read_graph', arguments: {} });
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(
    JSON.stringify({
        version,
        tools: tools.map((tool) => tool.name),
        created: created.structuredContent,
        read: read.structuredContent
    })
);
