import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readTrainingData } from './data.ts'
import { train } from './train.ts'

const usage = `npm run route:train -- --data <folder> [--out <file>]
  --data <folder>  folder with train.jsonl.gz, val.jsonl.gz and the other files of tools/routing/README.md
  --out <file>     file to write; default: services/routing/scoring/router.json`

const shipped = fileURLToPath(new URL('../../services/routing/scoring/router.json', import.meta.url))
const { values } = parseArgs({
  options: { data: { type: 'string' }, out: { type: 'string', default: shipped }, help: { type: 'boolean' } }
})

if (values.help === true || values.data === undefined) {
  console.error(usage)
  process.exitCode = values.help === true ? 0 : 2
} else {
  const startedMs = performance.now()
  const text = `${JSON.stringify(train(readTrainingData(values.data)), null, 1)}\n`
  writeFileSync(values.out, text)
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${values.out}: ${Math.round(text.length / 1024)} KiB after ${seconds.toFixed(0)} s`)
}
