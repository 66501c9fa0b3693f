import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createReport } from '../../chaos/report.ts'
import { fuzz } from './fuzz.ts'

// Plants one defect at a time in a copy of the gateway and lets the fuzz look for it: one that finds nothing
// has to be able to find something. `--plant leak` plants one.

interface Change { file: string, find: string, replace: string }
interface Plant { name: string, changes: Change[], finds: RegExp }

const plants: readonly Plant[] = [
  {
    name: 'encodes halves of characters',
    changes: [{
      file: 'services/shared/shown-text.ts',
      find: 'return value.toWellFormed().replace(/[^\\x20-\\x7e]+/g, encodeURIComponent)',
      replace: 'return value.replace(/[^\\x20-\\x7e]/g, encodeURIComponent)'
    }],
    finds: /: 500 /
  },
  {
    name: 'a quadratic pattern over the body',
    changes: [{
      file: 'services/shared/json.ts',
      find: 'const scan = scanJson(bytes)\n    try {',
      replace: 'const scan = scanJson(bytes)\n    if (/ +\\x01|a+\\x01|\\(+\\x01/.test(String(bytes))) throw new Error()\n    try {'
    }],
    finds: /a pause of the event loop/
  },
  {
    name: 'a 500 for a field that is null',
    changes: [{
      file: 'services/requests/tags.ts',
      find: 'const value: unknown = isObject(metadata) &&',
      replace: 'const value: unknown = metadata !== undefined &&'
    }, {
      file: 'services/requests/tags.ts',
      find: 'Object.hasOwn(metadata, name) ? metadata[name]',
      replace: 'Object.hasOwn(metadata as object, name) ? Reflect.get(metadata as object, name)'
    }],
    finds: /: 500 /
  },
  {
    name: 'a hold that stays open',
    changes: [{
      file: 'services/requests/request-reservation.ts',
      find: 'if (this.#settled === null) this.#release()\n',
      replace: 'if (this.#settled === null && Math.random() < 0.9) this.#release()\n'
    }],
    finds: /a hold stays open/
  },
  {
    name: 'leak',
    changes: [{
      file: 'plugins/gateway/request-record.ts',
      find: '    request.record = createRequestRecord(keepsWords)\n',
      replace: '    request.record = createRequestRecord(keepsWords)\n    leaked.push(Buffer.alloc(20_000, 1).toString("latin1"))\n'
    }, {
      file: 'plugins/gateway/request-record.ts',
      find: 'let count = 0\n',
      replace: 'let count = 0\nconst leaked: string[] = []\n'
    }],
    finds: /memory grows/
  },
  {
    name: 'another shape of errors on one route',
    changes: [{
      file: 'routes/v1/models.ts',
      find: "async ({ apiKey, params: { '*': id } }) => {\n",
      replace: "async ({ apiKey, params: { '*': id } }, reply) => {\n    if (id === 'none') return reply.hijack().raw.writeHead(404).end('none')\n"
    }],
    finds: /an error as ''/
  },
  {
    name: 'a header without a bound',
    changes: [{
      file: 'plugins/gateway/request-record.ts',
      find: 'const wellFormed = /^[\\w.:-]{1,128}$/',
      replace: 'const wellFormed = /^[\\x20-\\x7e]*$/'
    }, {
      file: 'plugins/gateway/request-record.ts',
      find: "reply.header('x-request-id', request.id)",
      replace: "reply.raw.setHeader('x-injected', decodeURIComponent(encodeURI(request.id)))"
    }],
    finds: /a header of a provider/
  },
  {
    name: 'a line of the log without a bound',
    changes: [{
      file: 'services/requests/request-record.ts',
      find: 'asked : redacted(asked, maxAskedLength)',
      replace: 'asked : asked'
    }],
    finds: /a line of the log without a bound/
  },
  {
    name: 'a settlement that is lost',
    changes: [{
      file: 'services/requests/request-reservation.ts',
      find: '    this.#settled ??= this.#charge(chargeFor, provider)\n',
      replace: '    if (this.#requestId.endsWith("7")) this.#release()\n    this.#settled ??= this.#charge(chargeFor, provider)\n'
    }],
    finds: /no entry for an answer|says it costs|a hold stays open|: 500 /
  },
  {
    name: 'the key in a message',
    changes: [{
      file: 'services/providers/upstream/read-response.ts',
      find: "  if (secret.length >= shortKey) return message.replaceAll(secret, '***')\n",
      replace: '  if (secret.length >= shortKey) return message\n'
    }, {
      file: 'services/http/upstream-errors.ts',
      find: "const words = redacted(message, maxMessageLength) || 'The provider rejected the request.'",
      replace: "const words = message || 'The provider rejected the request.'"
    }],
    finds: /the key of a provider/
  },
  {
    name: 'a stream that is never ended',
    changes: [{
      file: 'plugins/gateway/exchange.ts',
      find: '  raw.end()\n',
      replace: '  if (request.record.failure === null) raw.end()\n'
    }],
    finds: /no answer: late/
  },
  {
    name: 'an answer of the provider without a check',
    changes: [{
      file: 'services/providers/openai/openai.ts',
      find: 'const body = repairAnswer(',
      replace: 'const body = received as typeof whole & object || repairAnswer('
    }],
    finds: /instancePath|: 500 /
  }
]

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '16000' },
    seed: { type: 'string', default: '1' },
    plant: { type: 'string' }
  }
})
const root = join(import.meta.dirname, '../../..')
const parts = ['bin', 'plugins', 'routes', 'schemas', 'services', 'fastify.config.ts', 'package.json', 'tsconfig.json']
const report = createReport()

for (const plant of plants) {
  if (values.plant !== undefined && values.plant !== plant.name) continue
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-plant-'))
  for (const part of parts) await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const change of plant.changes) await apply(folder, change)
  const found = await fuzz({
    engine: 'sqlite',
    seed: Number(values.seed),
    requests: Number(values.requests),
    seconds: 600,
    connections: 48,
    root: folder,
    only: null,
    until: plant.finds,
    print: () => {}
  })
  await rm(folder, { recursive: true, force: true })
  const first = found.problems.find(problem => plant.finds.test(problem))
  const isFound = first !== undefined
  process.stdout.write(`${plant.name}: ${isFound ? 'found' : 'NOT FOUND'} ${first?.slice(0, 160) ?? ''}\n`)
  report.check(isFound, `${plant.name} is found: ${found.problems.join('; ').slice(0, 1000)}`)
}
report.close()

async function apply (folder: string, { file, find, replace }: Change): Promise<void> {
  const path = join(folder, file)
  const text = await readFile(path, 'utf8')
  if (text.split(find).length !== 2) throw new Error(`${file} does not have once: ${find}`)
  await writeFile(path, text.replace(find, () => replace))
}
