import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { showSupervisor } from '../services/operations/workers/metrics.ts'
import { documents, textOf } from './helpers/documents.ts'
import { buildGateway } from './helpers/gateway.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Place { x: number, y: number, w: number, h: number }
interface Dashboard { panels: Panel[], templating: { list: { query: string }[] } }
interface Panel {
  id: number
  title: string
  gridPos: Place
  targets: { refId: string, expr: string }[]
}

const dashboard: Dashboard = JSON.parse(read('deploy/grafana/tollgate.json'))
const team: Dashboard = JSON.parse(read('deploy/grafana/tollgate-team.json'))
const dashboards = [dashboard, team]
const rules: { groups: { rules: { alert: string, expr: string }[] }[] } = parse(read('deploy/prometheus/alerts.yml'))

/** The names of the metrics that a gateway with workers has from its start. */
async function metricsOf (t: Test): Promise<Set<string | undefined>> {
  const { app } = await buildGateway(t, { env: { TOLLGATE_METRICS_ACCOUNTS: '10', TOLLGATE_METRICS_KEYS: '10' } })
  const supervisor = new Registry()
  showSupervisor(supervisor, { running: 2, restarts: 0 })
  const text = await app.metrics.text() + await supervisor.metrics()
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(match => match[1]))
}

t.test('every metric of the dashboard, the alerts and the documents exists', async t => {
  const known = await metricsOf(t)
  const expressions = [
    ...dashboards.flatMap(({ panels }) => panels).flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboards.flatMap(({ templating }) => templating.list.map(({ query }) => query)),
    ...rules.groups.flatMap(group => group.rules.map(({ expr }) => expr))
  ]
  t.ok(expressions.length > 20)
  for (const expression of [...expressions, ...documents.map(textOf)]) {
    for (const [name] of expression.matchAll(/\b(tollgate_|process_(?=resident|cpu)|nodejs_)[a-z_]+/g)) {
      t.ok(known.has(name.replace(/_bucket$/, '')), name)
    }
  }
})

t.test('the dashboard shows who waits for money and what is in suspense', async t => {
  const shown = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  for (const name of ['ledger_waiting', 'suspense_usd', 'suspense_entries', 'ledger_overages_total', 'ledger_suspended_total']) {
    t.match(shown, `tollgate_${name}`)
  }
})

t.test('the panels of a dashboard stand side by side, each with ids of its own', async t => {
  for (const { panels } of dashboards) {
    const overlap = (one: Place, other: Place) => one.x < other.x + other.w && other.x < one.x + one.w &&
      one.y < other.y + other.h && other.y < one.y + one.h
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    t.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
    for (const [index, { title, gridPos, targets }] of panels.entries()) {
      t.notOk(panels.slice(index + 1).some(other => overlap(gridPos, other.gridPos)), title)
      t.ok(gridPos.x + gridPos.w <= 24, title)
      t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
    }
  }
})

t.test('every panel of a team shows that team alone, and works with the metrics of its requests', async t => {
  const { app, headers } = await buildGateway(t, { env: { TOLLGATE_METRICS_ACCOUNTS: '10', TOLLGATE_METRICS_KEYS: '10' } })
  const body = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] }
  await app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: body })
  const text = await app.metrics.text()
  const labels = new Set([...text.matchAll(/^tollgate_account_\w+\{(.*)\}/gm)]
    .flatMap(([, pairs = '']) => [...pairs.matchAll(/(\w+)="/g)].map(([, name]) => name)))
  for (const { title, targets } of team.panels) {
    for (const { expr } of targets) {
      for (const [selector] of expr.matchAll(/tollgate_\w+(\{[^}]*\})?/g)) t.match(selector, 'account="$account"', title)
      for (const [, names = ''] of expr.matchAll(/by \(([\w, ]+)\)/g)) {
        for (const name of names.split(', ')) t.ok(labels.has(name), `${title}: ${name}`)
      }
    }
  }
})
