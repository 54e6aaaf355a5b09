// pg-boss, on PostgreSQL.
//
// By default it takes one job every 2 s. The tuned profile takes 500 at a time in two loops that overlap, asks again at
// once while batches are full, is woken by NOTIFY (which the queue must be created for, and which the sender's side
// does not need) and polls every 0.5 s besides. Its maintenance and its scheduler are on in both.

import { isTuned, load, main, record, url } from './program.mjs'

const { PgBoss } = await load('pg-boss')

const QUEUE = 'noop'
const tuned = { batchSize: 500, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
let boss

async function start (options) {
  boss = new PgBoss({ connectionString: url, ...options })
  boss.on('error', error => console.error(error))
  await boss.start()
}

await main({
  async setup () {
    await start({})
    await boss.createQueue(QUEUE, isTuned ? { notify: true } : {})
  },
  async warm () {
    await start({ supervise: false, schedule: false })
    await boss.getQueue(QUEUE)
  },
  async single (n) {
    await boss.send(QUEUE, { n })
  },
  async bulk (numbers) {
    await boss.insert(QUEUE, numbers.map(n => ({ data: { n } })))
  },
  async worker () {
    await start(isTuned ? { useListenNotify: true } : {})
    await boss.work(QUEUE, isTuned ? tuned : {}, async jobs => {
      for (const job of jobs) record(job.data.n)
    })
  }
})
