// Graphile Worker, on PostgreSQL.
//
// By default it runs one job at a time, claims and deletes each by itself and logs a line for it. The tuned profile
// claims 1,000 at a time into its local queue, runs 24 at once over 10 connections, deletes the jobs that end in the same
// turn of the event loop by one statement (a batch delay of 0 turns that on) and logs errors only. NOTIFY and the poll
// every 2 s are on in both.

import { isTuned, load, main, record, url } from './program.mjs'

const { Logger, makeWorkerUtils, run, runMigrations } = await load('graphile-worker')

const onlyErrors = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message)
})
const tuned = {
  logger: onlyErrors,
  preset: {
    worker: {
      connectionString: url,
      concurrentJobs: 24,
      maxPoolSize: 10,
      localQueue: { size: 1000 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0
    }
  }
}
const taskList = {
  async noop ({ n }) { record(n) }
}
let queue

await main({
  async setup () {
    await runMigrations({ connectionString: url })
  },
  async warm () {
    queue = await makeWorkerUtils({ connectionString: url, logger: onlyErrors })
  },
  async single (n) {
    await queue.addJob('noop', { n })
  },
  async bulk (numbers) {
    await queue.addJobs(numbers.map(n => ({ identifier: 'noop', payload: { n } })))
  },
  async worker () {
    const runner = await run({ taskList, ...(isTuned ? tuned : { connectionString: url }) })
    await runner.promise
  }
})
