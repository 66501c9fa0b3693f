import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import packageFile from '../../package.json' with { type: 'json' }
import { videoDefaults } from '../../services/config/defaults.ts'
import { checkManifest, manifestKinds } from './manifest-models.ts'

const deploy = join(import.meta.dirname, '..', '..', 'deploy')
const chart = join(deploy, 'helm', 'tollgate')

/** The program: on the path, or where `go install helm.sh/helm/v3/cmd/helm@latest` puts it. */
const helm = ['helm', join(homedir(), 'go', 'bin', 'helm')].find(command => spawnSync(command, ['version']).status === 0)
const skip = helm === undefined ? 'Helm is not installed' : false

// A Helm that was built from its module does not know which Kubernetes it is for.
const template = ['template', 'gate', chart, '--kube-version', '1.31']

/** What the chart makes of some values, by kind. */
function render (...args: string[]) {
  const text = execFileSync(helm ?? '', [...template, ...args], { encoding: 'utf8', stdio: 'pipe' })
  const manifests = parseAllDocuments(text).map(document => document.toJS())
  return new Map(manifests.filter(manifest => manifest !== null)
    .map(manifest => [String(manifest.kind), manifest]))
}

const withSecret = ['--set', 'existingSecret=keys']

t.test('the chart has the version of the gateway', async t => {
  t.equal(String(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')).appVersion), packageFile.version)
})

t.test('helm lint has no complaint', { skip }, async t => {
  const { status, stdout } = spawnSync(helm ?? '', ['lint', '--strict', chart, ...withSecret], { encoding: 'utf8' })
  t.equal(status, 0, stdout)
  t.notMatch(stdout, /\[(WARNING|ERROR)\]/)
})

t.test('every manifest is valid, with every part switched on', { skip }, async t => {
  const manifests = render(
    '--set', 'secrets.DATABASE_URL=postgres://db/tollgate', '--set', 'ingress.enabled=true,ingress.tlsSecret=certificate',
    '--set', 'autoscaling.maxReplicas=5', '--set', 'config.video.max_hold_ms=1000')
  t.strictSame([...manifests.keys()].sort(), [...manifestKinds].sort())
  for (const [kind, manifest] of manifests) {
    t.doesNotThrow(() => checkManifest(manifest), kind)
  }
  t.strictSame(parse(manifests.get('ConfigMap').data['gateway.yaml']), {
    environment_providers: true, video: { max_hold_ms: 1000 }
  })
  t.notOk('replicas' in manifests.get('Deployment').spec, 'the autoscaler decides')
  t.strictSame(manifests.get('Ingress').spec.tls, [{ hosts: ['gateway.example.com'], secretName: 'certificate' }])
})

t.test('a node is run as by the plain manifests', { skip }, async t => {
  const { spec } = render(...withSecret).get('Deployment')
  const plain = parse(readFileSync(join(deploy, 'kubernetes', 'deployment.yaml'), 'utf8')).spec
  t.strictSame(spec.strategy, plain.strategy)
  t.equal(spec.replicas, plain.replicas)
  const [own] = spec.template.spec.containers
  const [other] = plain.template.spec.containers
  for (const name of ['ports', 'env', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resources',
    'securityContext', 'volumeMounts']) t.strictSame(own[name], other[name], name)
  t.strictSame(own.envFrom, [{ secretRef: { name: 'keys' } }])
  t.strictSame(spec.template.spec.securityContext, plain.template.spec.securityContext)
  const drainS = Number(own.env.find(({ name }: { name: string }) => name === 'TOLLGATE_DRAIN_SECONDS').value)
  t.ok(drainS * 1000 > videoDefaults.maxHoldMs, 'every held video is delivered')
  t.ok(spec.template.spec.terminationGracePeriodSeconds >= own.lifecycle.preStop.sleep.seconds + drainS + 30)
  t.match(spec.template.metadata.labels, spec.selector.matchLabels)
})

t.test('values change what they say', { skip }, async t => {
  const digest = `sha256:${'0'.repeat(64)}`
  const manifests = render(...withSecret, '--set', `image.digest=${digest},image.tag=old`, '--set', 'env.LOG_LEVEL=debug',
    '--set', 'networkPolicy.monitoringNamespace=watch', '--set', 'networkPolicy.egressPorts={443,11434}')
  const [container] = manifests.get('Deployment').spec.template.spec.containers
  t.equal(container.image, `tollgate@${digest}`)
  t.strictSame(container.env.at(-1), { name: 'LOG_LEVEL', value: 'debug' })
  t.notOk(manifests.has('Secret'), 'an existing one is used')
  t.notOk(manifests.has('Ingress'))
  const policy = manifests.get('NetworkPolicy').spec
  const metrics = policy.ingress.find(({ ports }: { ports: { port: string }[] }) => ports[0]?.port === 'metrics')
  t.strictSame(metrics.from, [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'watch' } } }])
  t.match(policy.egress[1].ports, [{ port: 443 }, { port: 11434 }])
  t.notOk(render(...withSecret, '--set', 'networkPolicy.enabled=false').has('NetworkPolicy'))
})

t.test('values that cannot work are refused', { skip }, async t => {
  const refused = (...args: string[]) => spawnSync(helm ?? '', [...template, ...args], { encoding: 'utf8' })
  t.match(refused().stderr, /Several nodes need one Postgres/)
  t.match(refused(...withSecret, '--set', 'image.digest=latest').stderr, /digest/)
  t.match(refused(...withSecret, '--set', 'replica=3').stderr, /replica/, 'a misspelt name')
})
