// graphile-worker, pg-boss and BullMQ under the protocol of ../README.md: node rivals.mjs RIVAL COMMAND ARGS...
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const modules = process.env.BENCH_NODE_MODULES; // where they are installed
const require = createRequire(path.join(modules, 'rivals.cjs'));
const postgres = process.env.BENCH_POSTGRES;
const pad = 'x'.repeat(80);

const micros = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

let ended = 0;
let started = false;
const delays = [];

function handle(job) {
  if (job.t) delays.push((micros() - job.t) / 1000);
  if (!started) {
    started = true;
    console.log(`F ${micros()}`);
  }
  ended += 1;
}

// Each gives: chunk, reset(), insert(job), insertMany(jobs), work() -> stop().
const rivals = {
  // The worker's settings are those of its own performance test.
  async graphile(command) {
    const { Pool } = require('pg');
    const { Logger, makeWorkerUtils, run } = require('graphile-worker');
    const logger = new Logger(() => () => {});
    const slots = 24;
    const pgPool = new Pool({ connectionString: postgres, max: slots + 2 });
    pgPool.on('error', () => {});
    const utils = ['work', 'reset'].includes(command) ? null : await makeWorkerUtils({ pgPool, logger });
    return {
      chunk: 10000,
      async reset() {
        await pgPool.query('drop schema if exists graphile_worker cascade');
        await (await makeWorkerUtils({ pgPool, logger })).migrate();
      },
      insert: (job) => utils.addJob('bench', job),
      insertMany: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: 'bench', payload }))),
      async work() {
        const worker = {
          concurrentJobs: slots, maxPoolSize: slots + 1, pollInterval: 1000, logger,
          localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
          completeJobBatchDelay: 0, failJobBatchDelay: 0,
        };
        const runner = await run({ pgPool, taskList: { bench: handle }, noHandleSignals: true, preset: { worker } });
        return () => runner.stop();
      },
    };
  },

  async pgboss(command) {
    const entry = path.join(modules, 'node_modules/pg-boss/dist/index.js');
    const { PgBoss } = await import(pathToFileURL(entry));
    if (command === 'reset') {
      const { Client } = require('pg');
      const client = new Client({ connectionString: postgres });
      await client.connect();
      await client.query('drop schema if exists pgboss cascade');
      await client.end();
    }
    const boss = new PgBoss({ connectionString: postgres, max: 20, useListenNotify: true });
    boss.on('error', (error) => console.error(error.message));
    await boss.start();
    return {
      chunk: 10000,
      reset: () => boss.createQueue('bench', { notify: true, partition: true }),
      insert: (job) => boss.send('bench', job),
      insertMany: (jobs) => boss.insert('bench', jobs.map((data) => ({ data }))),
      async work() {
        const options = {
          batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true,
          pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5,
        };
        await boss.work('bench', options, async (jobs) => { for (const job of jobs) handle(job.data); });
        return () => boss.stop({ graceful: false });
      },
    };
  },

  async bullmq() {
    const { Queue, Worker } = require('bullmq');
    const [host, port] = process.env.BENCH_REDIS.split(':');
    const connection = { host, port: Number(port) };
    const queue = new Queue('bench', { connection, defaultJobOptions: { removeOnComplete: true, removeOnFail: true } });
    return {
      chunk: 1000,
      async reset() {
        const { Redis } = require('ioredis');
        const redis = new Redis(connection);
        await redis.flushall();
        await redis.quit();
      },
      insert: (job) => queue.add('bench', job),
      insertMany: (jobs) => queue.addBulk(jobs.map((data) => ({ name: 'bench', data }))),
      async work() {
        const worker = new Worker('bench', async (job) => handle(job.data), {
          connection: { ...connection, maxRetriesPerRequest: null }, concurrency: 100, removeOnComplete: { count: 0 },
        });
        await worker.waitUntilReady();
        return () => worker.close(true);
      },
    };
  },
};

const printRate = (jobs, began) =>
  console.log('R ' + JSON.stringify({ n: jobs, secs: (micros() - began) / 1e6 }));

function printEnd() {
  console.log(`H ${ended} ${micros()}`);
  delays.sort((a, b) => a - b);
  const at = (share) => delays[Math.floor(share * (delays.length - 1))];
  const spread = delays.length ? { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) } : {};
  console.log('L ' + JSON.stringify({ n: delays.length, ...spread }));
}

const commands = {
  reset: (rival) => rival.reset(),

  async enqueue(rival, producers, jobs) {
    await rival.insert({ t: 0, pad }); // the connection is there
    const each = Math.floor(jobs / producers);
    const began = micros();
    await Promise.all(Array.from({ length: producers }, async () => {
      for (let i = 0; i < each; i++) await rival.insert({ t: 0, pad });
    }));
    printRate(each * producers, began);
  },

  async bulk(rival, jobs) {
    const began = micros();
    for (let left = jobs; left > 0; left -= rival.chunk)
      await rival.insertMany(Array.from({ length: Math.min(left, rival.chunk) }, () => ({ t: 0, pad })));
    printRate(jobs, began);
  },

  async rate(rival, rate, seconds) {
    const began = micros();
    const underWay = [];
    for (let i = 0; i < rate * seconds; i++) {
      const ahead = began / 1000 + (i * 1000) / rate - micros() / 1000;
      if (ahead > 0) await pause(ahead);
      underWay.push(rival.insert({ t: micros(), pad }));
      if (underWay.length > 50) await underWay.shift();
    }
    await Promise.all(underWay);
    printRate(rate * seconds, began);
  },

  async work(rival) {
    let told = 0;
    setInterval(() => {
      if (ended !== told) console.log(`H ${ended} ${micros()}`);
      told = ended;
    }, 20).unref();
    const stop = await rival.work();
    console.log('READY');
    process.stdin.resume();
    await new Promise((closed) => process.stdin.once('end', closed));
    printEnd();
    setTimeout(() => process.exit(0), 4000).unref();
    await stop().catch(() => {});
  },
};

const [name, command, ...rest] = process.argv.slice(2);
await commands[command](await rivals[name](command), ...rest.map(Number));
process.exit(0);
