import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { models, startModels } from './models.ts'
import { agentPackages, preparePython } from '../helpers/python.ts'
import { inFolder, installed, runProgram } from './agent.ts'

/** Programs in Python that give one client its tasks with every kind of model. */
export const pythonJudges = ['openai_sdk', 'anthropic_sdk', 'agents_sdk', 'pydantic_ai_agents'] as const

/** Runs one of them; resolves to the number of its tasks, or null if it cannot be installed. */
export async function runPythonJudge (name: string): Promise<number | null> {
  const python = await preparePython(agentPackages)
  if (python === null) return null
  return await judged(python, ['-B', join(import.meta.dirname, 'python', `${name}.py`)], import.meta.dirname)
}

/** Runs a judge, which prints a line that begins with `ok` for each task, and exits with 0 if none failed. */
export async function judged (command: string, args: readonly string[], cwd: string): Promise<number> {
  const closing: (() => unknown)[] = []
  try {
    const { url, key } = await startModels({ teardown: end => { closing.push(end) } })
    const env = {
      ...process.env,
      TOLLGATE_ORIGIN: new URL(url).origin,
      TOLLGATE_KEY: key,
      TOLLGATE_MODELS: JSON.stringify(models),
      PYTHONWARNINGS: 'ignore'
    }
    const { code, output } = await runProgram(command, args, { cwd, env })
    assert.equal(code, 0, output)
    const tasks = output.match(/^ok /gm)?.length ?? 0
    assert.ok(tasks >= Object.keys(models).length, output)
    return tasks
  } finally {
    for (const end of closing.toReversed()) await end()
  }
}

/** The same in JavaScript: clients by the name of their file, each with the packages that it needs. */
export const jsJudges: Readonly<Record<string, readonly string[]>> = {
  'agents-sdk': ['@openai/agents@0.20.0', 'openai@7.57.0', 'zod@4.6.7'],
  'ai-sdk': ['ai@7.0.173', '@ai-sdk/openai@4.0.118', '@ai-sdk/anthropic@4.0.105', 'zod@4.6.7'],
  langchain: ['@langchain/core@1.4.0', '@langchain/openai@1.6.0', '@langchain/anthropic@1.5.11', 'zod@4.6.7']
}

/** Runs one of them in a folder with its packages. */
export async function runJsJudge (name: string): Promise<number | null> {
  let tasks: number | null = null
  await inFolder(name, async folder => {
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    if (!await installed(folder, ...jsJudges[name] ?? [])) return
    const files = ['judge.js', `${name}.js`]
    for (const file of files) await copyFile(join(import.meta.dirname, 'js', file), join(folder, file))
    tasks = await judged(process.execPath, [`${name}.js`], folder)
  })
  return tasks
}
