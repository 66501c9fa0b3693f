/** The URL path of a model, without a leading slash. */
export function modelPath (model: string): string {
  return model.split('/').map(encodeURIComponent).join('/')
}

/** The path of the app that owns a model's requests: `owner/alias`, behind a namespace for some owners. */
export function appPath (model: string): string {
  const isNamespaced = /^(workflows|comfy)\//.test(model)
  return modelPath(model.split('/').slice(0, isNamespaced ? 3 : 2).join('/'))
}
