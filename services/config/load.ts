import { readFileSync, statSync } from 'node:fs'
import type { GatewayConfig } from './catalogue/types.ts'
import { ConfigError, type Problem } from './config-error.ts'
import type { ParseOptions } from './read/parse.ts'
import { configFromEnvironment } from './environment/environment.ts'

export const maxFileBytes = 4 * 1024 * 1024

interface LoadOptions extends ParseOptions { path: string | null, env: NodeJS.ProcessEnv }

/**
 * Reads the operator's file, or the environment without a path. `TOLLGATE_SCRIPT`, which the command
 * `sandbox` sets, names a script that all providers play. Rejects with ConfigError.
 */
export async function loadConfig (options: LoadOptions): Promise<GatewayConfig> {
  const config = await loadUnscripted(options)
  const { TOLLGATE_SCRIPT: script } = options.env
  if (script === undefined) return config
  const { readScript } = await import('./read/script.ts')
  const { scripted } = await import('./scripted.ts')
  return scripted(config, readScript(script))
}

async function loadUnscripted ({ path, env, ...options }: LoadOptions): Promise<GatewayConfig> {
  if (path === null) return configFromEnvironment(env)
  const text = readText(path)
  // Loaded on demand: a start without a file does not need the YAML parser.
  const { parseConfig } = await import('./read/parse.ts')
  return parseConfig(text, env, path, options)
}

function readText (path: string): string {
  try {
    const { size } = statSync(path)
    if (size <= maxFileBytes) return readFileSync(path, 'utf8')
    throw new ConfigError(path, [wholeFile(`is larger than ${maxFileBytes} bytes`)])
  } catch (error) {
    if (error instanceof ConfigError || !(error instanceof Error)) throw error
    throw new ConfigError(path, [wholeFile(`cannot be read: ${error.message}`)])
  }
}

function wholeFile (message: string): Problem {
  return { path: '', line: null, column: null, message }
}
