import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Copy, DockerfileParser, From, type Instruction } from 'dockerfile-ast'
import { parse } from 'yaml'
import { freePort } from '../helpers/free-port.ts'

// Runs the commands of deploy/Dockerfile in empty folders, without Docker: each stage is a folder, the
// context follows .dockerignore, and the last stage's command must serve, pass its own health check and end
// on SIGTERM. It uses the Node.js that runs this program.

const root = join(import.meta.dirname, '..', '..')
const workspace = mkdtempSync(join(tmpdir(), 'tollgate-image-'))
const context = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n').filter(line => line.startsWith('!')).map(line => line.slice(1))

interface Stage {
  folder: string
  directory: string
  env: Record<string, string>
  entrypoint: string[]
  check: string[]
}

try {
  const stages = new Map<string, Stage>()
  let stage = newStage('none')
  for (const line of DockerfileParser.parse(readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')).getInstructions()) {
    if (line instanceof From) {
      const name = line.getBuildStage() ?? 'last'
      stage = newStage(name)
      stages.set(name, stage)
    } else {
      apply(line, stage, stages)
    }
  }
  await serve(stage)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}

function newStage (name: string): Stage {
  return { folder: join(workspace, name), directory: '/', env: {}, entrypoint: [], check: [] }
}

function apply (line: Instruction, stage: Stage, stages: ReadonlyMap<string, Stage>): void {
  const keyword = line.getKeyword()
  const content = line.getArgumentsContent() ?? ''
  if (keyword === 'WORKDIR') {
    stage.directory = content
    mkdirSync(join(stage.folder, content), { recursive: true })
  } else if (keyword === 'COPY' && line instanceof Copy) {
    copy(line, stage, stages)
  } else if (keyword === 'ENV') {
    for (const [, name = '', value = ''] of content.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value
  } else if (keyword === 'RUN') {
    process.stdout.write(`RUN ${content}\n`)
    // Absolute paths of the image are inside the folder of the stage.
    const command = content.replace(/(^|\s)\/(app|data)/g, `$1${stage.folder}/$2`)
    // npm may need settings to reach its registry, as when an image is built.
    const env = { ...process.env, ...environment(stage) }
    execFileSync('sh', ['-c', command], { cwd: join(stage.folder, stage.directory), stdio: 'inherit', env })
  } else if (keyword === 'ENTRYPOINT' || keyword === 'CMD') {
    stage.entrypoint.push(...parse(content))
  } else if (keyword === 'HEALTHCHECK') {
    stage.check = parse(content.slice(content.indexOf('[')))
  }
}

function copy (line: Copy, stage: Stage, stages: ReadonlyMap<string, Stage>): void {
  const words = line.getArguments().map(argument => argument.getValue())
  const target = join(stage.folder, words.at(-1)?.startsWith('/') ? '' : stage.directory, words.at(-1) ?? '')
  const from = line.getFlags().find(flag => flag.getName() === 'from')?.getValue()
  for (const source of words.slice(0, -1)) {
    if (from != null) {
      cpSync(join(stages.get(from)?.folder ?? '', source), target, { recursive: true })
      continue
    }
    for (const name of source === '.' ? context : [source]) {
      if (!context.includes(name)) throw new Error(`${name} is not in the context`)
      mkdirSync(dirname(join(target, name)), { recursive: true })
      cpSync(join(root, name), join(target, name), { recursive: true })
    }
  }
}

function environment (stage: Stage): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  const own = Object.entries(stage.env).map(([name, value]) => {
    return [name, value.replace(/\/(app|data)/, `${stage.folder}/$1`)]
  })
  return { HOME, ...Object.fromEntries(own), PATH: `${dirname(process.execPath)}:${PATH}` }
}

async function serve (stage: Stage): Promise<void> {
  const cwd = join(stage.folder, stage.directory)
  if (existsSync(join(cwd, 'test'))) throw new Error('the image has the tests in it')
  const env = { ...environment(stage), HOST: '127.0.0.1', PORT: String(await freePort()) }
  const [file = '', ...args] = stage.entrypoint
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  try {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', text => { output += text })
    while (!/sk-tg-\S+/.test(output) || !/Tollgate serves/.test(output)) {
      await Promise.race([once(child.stdout, 'data'), exited.then(() => { throw new Error(output) })])
    }
    const key = /sk-tg-\S+/.exec(output)?.[0]
    const answer = await fetch(`http://127.0.0.1:${env.PORT}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
    })
    if (answer.status !== 200) throw new Error(`the image answers ${answer.status}: ${await answer.text()}`)
    const [check = '', ...checkArgs] = stage.check.slice(stage.check[0] === 'CMD' ? 1 : 0)
    execFileSync(check, checkArgs, { env, stdio: 'inherit' })
    process.stdout.write(execFileSync(file, ['bin/tollgate.js', 'accounts', 'list'], { cwd, env, encoding: 'utf8' }))
  } finally {
    child.kill('SIGTERM')
  }
  const [code] = await exited
  if (code !== 0) throw new Error(`the image ends with ${code} on SIGTERM`)
  process.stdout.write('the image serves, is healthy and ends with 0\n')
}
