// A second program that shares a memory file by the same rules, written for Node without any dependency.
//
//   node locking_writer.mjs FILE write COUNT NAME   append entities NAME-0, NAME-1, ... one save each; prints "done"
//   node locking_writer.mjs FILE hold               take the lock, print "held", give it back at the next line of input
//
// Its record is of the npm server's kind: {pid, hostname, token} and nothing more.

import { randomBytes } from 'node:crypto';
import { constants, promises as fs } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const UNREFRESHED = 30_000; // milliseconds
const HEARTBEAT = 15_000;
const WAIT = 60_000;

class Lock {
  constructor(file) {
    this.path = `${file}.lock`;
    this.base = file;
    this.seen = undefined;
  }

  async acquire() {
    const deadline = performance.now() + WAIT;
    while (!(await this.create())) {
      if (performance.now() > deadline) throw new Error(`could not lock ${this.path}`);
      const judged = await look(this.path);
      if (judged && this.isStale(judged)) await this.break(judged);
      await sleep(1 + 2 * Math.random());
    }
  }

  async create() {
    const token = newToken();
    let handle;
    try {
      handle = await fs.open(this.path, 'wx', 0o600);
    } catch (error) {
      if (error.code === 'EEXIST') return false;
      throw error;
    }
    await handle.writeFile(record(token));
    this.token = token;
    this.handle = handle;
    this.beat = setInterval(() => handle.utimes(new Date(), new Date()).catch(() => {}), HEARTBEAT);
    return true;
  }

  async held() {
    const seen = await look(this.path);
    return seen?.record?.token === this.token && seen.ino === (await this.handle.stat()).ino;
  }

  async release() {
    clearInterval(this.beat);
    if (await this.held()) await fs.unlink(this.path);
    await this.handle.close();
  }

  isStale(judged) {
    const { record, mtimeMs } = judged;
    if (record?.hostname === hostname() && isGone(record.pid)) return true;
    const now = performance.now();
    if (!this.seen || !same(this.seen.judged, judged)) this.seen = { judged, since: now };
    return Date.now() - mtimeMs > UNREFRESHED || now - this.seen.since > UNREFRESHED;
  }

  async break(judged) {
    const guard = `${this.path}.break`;
    const token = newToken();
    try {
      await fs.writeFile(guard, record(token), { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const left = await look(guard);
      if (left && Date.now() - left.mtimeMs > UNREFRESHED) await takeAside(this.base, guard, left);
      return;
    }
    const again = await look(this.path);
    if (again && same(again, judged)) await takeAside(this.base, this.path, judged);
    if ((await look(guard))?.record?.token === token) await fs.unlink(guard);
  }
}

async function takeAside(base, path, judged) {
  const aside = `${base}.${newToken()}.tmp`;
  try {
    await fs.rename(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  const taken = await look(aside);
  if (!taken || !same(taken, judged)) await fs.link(aside, path).catch(() => {});
  await fs.unlink(aside);
}

async function look(path) {
  try {
    if (!(await fs.lstat(path)).isFile()) return undefined;
    const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const { ino, mtimeMs } = await handle.stat();
      const text = await handle.readFile('utf8');
      return { ino, mtimeMs, text, record: parse(text) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function same(one, other) {
  return one.ino === other.ino && one.mtimeMs === other.mtimeMs && one.text === other.text;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isGone(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function newToken() {
  return randomBytes(16).toString('hex');
}

function record(token) {
  return JSON.stringify({ pid: process.pid, hostname: hostname(), token });
}

async function append(file, lock, name) {
  for (;;) {
    await lock.acquire();
    try {
      const before = await fs.readFile(file, 'utf8').catch((error) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      const temporary = `${file}.${newToken()}.tmp`;
      const line = JSON.stringify({ type: 'entity', name, entityType: 'test', observations: [] });
      await fs.writeFile(temporary, `${before}${line}\n`, { flag: 'wx', mode: 0o600, flush: true });
      if (await lock.held()) {
        await fs.rename(temporary, file);
        return;
      }
      await fs.unlink(temporary);
    } finally {
      await lock.release();
    }
  }
}

const [file, verb, count, name] = process.argv.slice(2);
const lock = new Lock(file);
if (verb === 'write') {
  for (let number = 0; number < Number(count); number += 1) await append(file, lock, `${name}-${number}`);
  const folder = await fs.open(dirname(file));
  await folder.sync();
  await folder.close();
  console.log('done');
} else {
  await lock.acquire();
  console.log('held');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await lock.release();
  process.stdin.pause();
  console.log('released');
}
