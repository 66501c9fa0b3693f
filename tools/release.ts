import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import packageFile from '../package.json' with { type: 'json' }

// Makes what a release consists of, in the folder of `--out`: the package of npm, its bill of materials in
// CycloneDX, a statement of its provenance by SLSA 1.0, and the digests of all of them. `--publish` hands the
// package to the registry, which signs the provenance of a build in CI; `--image name` builds and pushes the
// image with both attestations.

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'release' },
    publish: { type: 'boolean', default: false },
    image: { type: 'string' }
  }
})
const out = resolve(values.out)
const startedOn = new Date().toISOString()
const { version } = packageFile
const maxBuffer = 64 * 1024 ** 2

const changes = read('git', 'status', '--porcelain')
const isPublic = values.publish || values.image !== undefined
if (isPublic && changes !== '') throw new Error(`a release is made of what is committed:\n${changes}`)

mkdirSync(out, { recursive: true })
read('npm', 'pack', '--silent', '--pack-destination', out)
const tarball = `tollgate-${version}.tgz`
const bom = `tollgate-${version}.cdx.json`
write(bom, billOfMaterials(join(out, tarball)))
const provenance = `tollgate-${version}.provenance.json`
write(provenance, JSON.stringify(statement([tarball, bom]), null, 2))
write('SHA256SUMS', [tarball, bom, provenance].map(name => `${digestOf(join(out, name))}  ${name}`).join('\n'))
if (values.publish) run('npm', 'publish', join(out, tarball))
if (values.image !== undefined) {
  run('docker', 'buildx', 'build', '--file', 'deploy/Dockerfile', '--tag', `${values.image}:${version}`,
    '--sbom=true', '--provenance=mode=max', '--push', '.')
}
process.stdout.write(`${[tarball, bom, provenance, 'SHA256SUMS'].map(name => join(out, name)).join('\n')}\n`)

/** Of a folder with the package's own lock alone: `--omit dev` leaves out what development needs too. */
function billOfMaterials (tarball: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bom-'))
  try {
    // npm names the bill after the folder.
    const cwd = join(folder, 'tollgate')
    mkdirSync(cwd)
    run('tar', '-xzf', tarball, '-C', cwd, '--strip-components=1', 'package/npm-shrinkwrap.json')
    const { devDependencies: _, ...plain } = packageFile
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(plain))
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']
    return execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Source: slsa.dev/spec/v1.0/provenance; in-toto.io/Statement/v1. */
function statement (names: readonly string[]): object {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, GITHUB_REF } = process.env
  const repository = GITHUB_REPOSITORY === undefined ? null : `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: names.map(name => ({ name, digest: { sha256: digestOf(join(out, name)) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://docs.npmjs.com/cli/v11/commands/npm-pack',
        externalParameters: { repository, ref: GITHUB_REF ?? null },
        internalParameters: {
          node: process.version, npm: read('npm', '--version').trim(), hasUncommitted: changes !== ''
        },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: read('git', 'rev-parse', 'HEAD').trim() } },
          { name: 'package-lock.json', digest: { sha256: digestOf(join(root, 'package-lock.json')) } }
        ]
      },
      runDetails: {
        builder: { id: repository === null ? 'local' : `${repository}/actions/runs/${GITHUB_RUN_ID}` },
        metadata: { startedOn, finishedOn: new Date().toISOString() }
      }
    }
  }
}

function digestOf (path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function write (name: string, text: string): void {
  writeFileSync(join(out, name), text.endsWith('\n') ? text : `${text}\n`)
}

function read (command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer })
}

function run (command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd: root, stdio: 'inherit' })
}
