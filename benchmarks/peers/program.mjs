// The contract of program.py for the programs that run on Node: how a job notes its start, and the command line.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

export const url = process.env.BENCH_URL
export const isTuned = (process.env.BENCH_PROFILE ?? 'tuned') === 'tuned'

const PORTION = 1000 // jobs in one call of a bulk enqueue
const MODULES = new URL('../../.local/bench/node/', import.meta.url) // where installing.py puts them

/** Import a package from there: Node itself looks only in the folders above the file that imports. */
export function load (name) {
  return import(pathToFileURL(createRequire(MODULES).resolve(name)))
}

const start = Buffer.alloc(8)
let times

/** Note that job `n` started. */
export function record (n) {
  times ??= fs.openSync(process.env.BENCH_TIMES, 'r+')
  start.writeBigInt64LE(now())
  fs.writeSync(times, start, 0, 8, 8 * n)
}

// Microseconds are exact enough, and all that a float can hold.
function now () {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n
}

/** Do what the command line says, with a program { setup, warm, single, bulk, worker } of async functions. */
export async function main (program) {
  const [command, ...numbers] = process.argv.slice(2)
  if (command === 'worker') {
    await program.worker()
    return
  }
  const run = { setup, single, bulk, paced }[command]
  if (!run) throw new Error(`${command} is none of setup, single, bulk, paced, worker`)
  console.log(JSON.stringify(await run(program, ...numbers.map(Number))))
  process.exit(0) // pools of connections would keep it alive
}

async function setup (program) {
  await program.setup()
  return {}
}

async function single (program, count, start) {
  await program.warm()
  return await timed(async () => {
    for (let n = start; n < start + count; n++) await program.single(n)
  })
}

async function bulk (program, count, start) {
  await program.warm()
  return await timed(async () => {
    for (let first = start; first < start + count; first += PORTION) {
      const size = Math.min(PORTION, start + count - first)
      await program.bulk(Array.from({ length: size }, (_, index) => first + index))
    }
  })
}

async function timed (action) {
  const began = performance.now()
  await action()
  return { seconds: (performance.now() - began) / 1000 }
}

async function paced (program, count, gap, start) {
  await program.warm()
  const returned = []
  let due = performance.now()
  for (let n = start; n < start + count; n++) {
    due += gap
    await program.single(n)
    returned.push(Number(now()))
    await new Promise(resolve => setTimeout(resolve, Math.max(0, due - performance.now())))
  }
  return { returned }
}
