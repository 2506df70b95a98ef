// A TypeScript client across a restart of its server: `restarted.mjs PACKAGE URL MODE`. It calls, prints `called`, waits
// for a line, calls again and prints what it found. PACKAGE is `client` (2.x) or `sdk` (1.x, which has one mode).
import { createInterface } from 'node:readline';

const [kind, url, mode] = process.argv.slice(2);
const old = kind === 'sdk';
const { Client } = await import(old ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = await import(
  old ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client'
);
const client = new Client({ name: 'typescript', version: '1' }, old ? {} : { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const entity = { name: 'Ann', entityType: 'person', observations: [] };
await client.callTool({ name: 'create_entities', arguments: { entities: [entity] } });
console.log('called');
await new Promise(resolve => createInterface({ input: process.stdin }).once('line', resolve));
const found = await client.callTool({ name: 'read_graph', arguments: {} });
console.log(JSON.stringify(found.structuredContent));
process.exit(0);
