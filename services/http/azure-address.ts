const azureAddress = /^\/(?:openai(?:\/v1)?|v1(?=\/deployments\/))(?:\/deployments\/(?<deployment>[^/?]+))?(?<rest>\/[^?]*)(?:\?(?<query>.*))?$/

/** The parameter of a rewritten address that names the model. */
export const deploymentParameter = 'deployment'

/**
 * Returns the address under `/v1` for one in Azure's form, such as
 * `/openai/deployments/<name>/chat/completions?api-version=2024-10-21` or `/openai/v1/responses`; any other
 * address as it is. The deployment becomes a parameter, from which `takeDeployment` takes the model.
 * Source: the client `AzureOpenAI` of openai 7.55.0.
 */
export function withoutAzureForm (url: string): string {
  const { deployment, rest, query } = azureAddress.exec(url)?.groups ?? {}
  if (rest === undefined) return url
  const parameters = new URLSearchParams(query)
  parameters.delete('api-version')
  parameters.delete(deploymentParameter)
  // The name is encoded in the path as it is in a query.
  const named = deployment === undefined ? '' : `${deploymentParameter}=${deployment}`
  const text = [named, parameters.toString()].filter(part => part !== '').join('&')
  return `/v1${rest}${text === '' ? '' : `?${text}`}`
}
