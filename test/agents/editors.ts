import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { models, startModels, type KindOfModel } from './models.ts'
import { aiderPackages, preparePython } from '../helpers/python.ts'
import { inFolder, installed, loopbackOnly, runProgram } from './agent.ts'
import { askClaudeCode } from './defaults.ts'

// Claude Code and aider, which edit a file as the obedient models behind the gateway say.

/** What the gateway has received. */
interface Sent { session: unknown, betas: unknown, body: unknown }

interface Task {
  /** With an empty home and the file. */
  folder: string
  file: string
  model: string
  /** Without the path of an API. */
  origin: string
  key: string
  env: NodeJS.ProcessEnv
}

/** Runs a program that has to edit the file; resolves to its exit code and output. */
type Edit = (task: Task) => Promise<{ code: number | null, output: string }>

const answer = 'The greeting is polite now.'

/** Has a program edit a file with a model of a kind; resolves to what it sent, without its folder. */
async function edited (kind: KindOfModel, edit: Edit): Promise<Sent[]> {
  const sent: Sent[] = []
  const closing: (() => unknown)[] = []
  let place = ''
  try {
    const gateway = await startModels({ teardown: end => { closing.push(end) } }, {
      beforeReady: async app => {
        app.addHook('preHandler', async ({ body, headers }) => {
          if (body === undefined) return
          const { 'x-claude-code-session-id': session, 'anthropic-beta': betas } = headers
          sent.push({ session, betas: betas?.toString().split(','), body })
        })
      }
    })
    await inFolder('editor', async folder => {
      place = folder
      const file = join(folder, 'work', 'greeting.txt')
      await Promise.all([mkdir(join(folder, 'home')), mkdir(dirname(file))])
      await writeFile(file, 'Hello\n')
      const { code, output } = await edit({
        folder,
        file,
        model: models[kind],
        origin: new URL(gateway.url).origin,
        key: gateway.key,
        env: { PATH: process.env.PATH, HOME: join(folder, 'home'), ...loopbackOnly }
      })
      assert.equal(code, 0, output)
      assert.ok(output.includes(answer), output)
      assert.equal(await readFile(file, 'utf8'), 'Good day\n', output)
    })
  } finally {
    for (const end of closing.toReversed()) await end()
  }
  return JSON.parse(JSON.stringify(sent).replaceAll(place, '/tmp/editor'))
}

/** The kinds of models with which each program is run; the transcript is that with the first. */
const kinds: readonly KindOfModel[] = ['compatible', 'claude', 'gemini', 'native']

async function editedWithAll (edit: Edit, record: (transcript: unknown) => Promise<void>): Promise<string> {
  for (const [at, kind] of kinds.entries()) {
    const sent = await edited(kind, edit)
    // The last request repeats those before it.
    if (at === 0) await record(sent.filter((_, index) => index === 0 || index === sent.length - 1))
  }
  return `a file edited with ${kinds.length} kinds of models`
}

/** Has Claude Code edit a file, and use its default model. Null if it cannot be installed. */
export async function runClaudeCode (
  record: (transcript: unknown) => Promise<void>, version = '2.1.332'
): Promise<string | null> {
  let done: string | null = null
  await inFolder('claude-code', async packages => {
    if (!await installed(packages, `@anthropic-ai/claude-code@${version}`)) return
    // Scripts of packages do not run here, so the launcher is not replaced by the program that it finds.
    const launcher = join(packages, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs')
    const edited = await editedWithAll(async ({ file, model, origin, key, env }) => {
      const prompt = [
        'Make the greeting polite.',
        `CALL Read ${JSON.stringify({ file_path: file })}`,
        `CALL Edit ${JSON.stringify({ file_path: file, old_string: 'Hello', new_string: 'Good day' })}`,
        `SAY ${answer}`
      ].join('\n')
      return await runProgram(process.execPath, [launcher, '-p', prompt, '--permission-mode', 'acceptEdits'], {
        cwd: dirname(file),
        env: {
          ...env,
          ANTHROPIC_BASE_URL: origin,
          ANTHROPIC_API_KEY: key,
          ANTHROPIC_MODEL: model,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1'
        }
      })
    }, record)
    done = `${edited}, ${await askClaudeCode(launcher)}`
  })
  return done
}

const aiderOptions = [
  '--edit-format', 'diff', '--yes-always', '--no-git', '--no-gitignore', '--no-pretty', '--no-show-model-warnings',
  '--no-check-update', '--no-show-release-notes', '--analytics-disable'
]

/** Has aider edit a file over chat completions. Null if it cannot be installed. */
export async function runAider (record: (transcript: unknown) => Promise<void>): Promise<string | null> {
  const python = await preparePython(aiderPackages)
  if (python === null) return null
  const block = ['```', '<<<<<<< SEARCH', 'Hello', '=======', 'Good day', '>>>>>>> REPLACE', '```']
  const text = [answer, '', 'greeting.txt', ...block, ''].join('\n')
  const prompt = `Make the greeting polite.\nSAY ${JSON.stringify(text)}`
  return await editedWithAll(async ({ file, model, origin, key, env }) => {
    const args = ['-m', 'aider', '--model', `openai/${model}`, ...aiderOptions, '--message', prompt, 'greeting.txt']
    return await runProgram(python, args, {
      cwd: dirname(file),
      env: { ...env, OPENAI_API_BASE: `${origin}/v1`, OPENAI_API_KEY: key, LITELLM_LOCAL_MODEL_COST_MAP: 'True' }
    })
  }, record)
}
