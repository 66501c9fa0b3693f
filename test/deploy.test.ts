import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { buildGateway } from './helper.ts'

const folder = join(import.meta.dirname, '..', 'deploy')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

t.test('every metric of the dashboard and the alerts exists', async t => {
  const { app } = await buildGateway(t)
  const text = await app.metrics.text()
  const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(match => match[1]))
  const dashboard: { panels: { targets: { expr: string }[] }[] } = JSON.parse(read('grafana/tollgate.json'))
  const rules: { groups: { rules: { alert: string, expr: string }[] }[] } = parse(read('prometheus/alerts.yml'))
  const expressions = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...rules.groups.flatMap(group => group.rules.map(({ expr }) => expr))
  ]
  t.ok(expressions.length > 20)
  for (const expression of expressions) {
    for (const [name] of expression.matchAll(/\b(tollgate|process|nodejs)_\w+/g)) {
      t.ok(known.has(name.replace(/_bucket$/, '')), name)
    }
  }
})
