import { runCommandLine } from '../cli/run.ts'

const { stdout, stderr, env } = process

// A reader such as `head` may close the pipe early.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

const args = process.argv.slice(2)

// A newcomer starts with `npx tollgate`.
process.exitCode = await runCommandLine(args.length === 0 ? ['serve'] : args, {
  stdout,
  stderr,
  env,
  serve: async (more = {}) => {
    const { serve } = await import('./serve.ts')
    await serve({ ...env, ...more })
  }
})
