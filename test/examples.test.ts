import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../services/config/read/parse.ts'
import { startGateway } from './helpers/gateway.ts'

const folder = join(import.meta.dirname, '..', 'examples')

for (const name of globSync('*.yaml', { cwd: folder })) {
  t.test(`a gateway starts with examples/${name}`, async t => {
    const text = readFileSync(join(folder, name), 'utf8')
    // Every variable that it names has a value, as the comments demand.
    const named = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => [String(variable), 'set'])
    const config = parseConfig(text, Object.fromEntries(named))
    const { url, headers } = await startGateway(t, { config })
    const list = await fetch(`${url}/models`, { headers })
    t.equal(list.status, 200)
    const { data } = await list.json() as { data: { id: string }[] }
    for (const { id } of config.models) t.ok(data.some(model => model.id === id), id)
    t.ok(config.models.length > 0)
  })
}
