const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g

/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */

/**
 * Substitutes `${NAME}` and `${NAME:-default}` from `env`; the default also replaces an empty variable.
 * `$${` is a literal `${`. Returns the text, and messages that name variables but never contain values.
 */
export function substitute (text: string, env: NodeJS.ProcessEnv): { text: string, problems: string[] } {
  const problems: string[] = []
  const filled = text.replace(reference, (whole, name: string | undefined, fallback: string | undefined) => {
    if (whole === '$${') return '${'
    if (name === undefined) {
      problems.push('has a "${" that does not start a ${NAME} or ${NAME:-default}; write "$${" for a literal "${"')
      return whole
    }
    const value = env[name]
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
    if (value === undefined) problems.push(`the environment variable ${name} is not set`)
    return value ?? ''
  })
  return { text: filled, problems }
}
