const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g

/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */

/**
 * Fills `${NAME}` and `${NAME:-default}` in from `env`; the default also stands in for an empty variable.
 * `$${` is a plain `${`. Returns the text and messages on what is missing, which name variables, never
 * values.
 */
export function substitute (text: string, env: NodeJS.ProcessEnv): { text: string, problems: string[] } {
  const problems: string[] = []
  const filled = text.replace(reference, (whole, name: string | undefined, otherwise: string | undefined) => {
    if (whole === '$${') return '${'
    if (name === undefined) {
      problems.push('has a "${" that begins no ${NAME} or ${NAME:-default}; a plain "${" is written "$${"')
      return whole
    }
    const value = env[name]
    if (otherwise !== undefined) return value === undefined || value === '' ? otherwise : value
    if (value === undefined) problems.push(`the environment variable ${name} is not set`)
    return value ?? ''
  })
  return { text: filled, problems }
}
