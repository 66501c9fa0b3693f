// What the judges in JavaScript share. They run in a folder in which their client is installed.

/** Without the path that OpenAI's clients end it with. */
export const origin = process.env.TOLLGATE_ORIGIN ?? ''
export const apiKey = process.env.TOLLGATE_KEY ?? ''
/** Public names of models, by their kind. */
const models = JSON.parse(process.env.TOLLGATE_MODELS ?? '{}')

/** Whether the model does what its prompt says (test/servers/obedient.ts). */
export const obeys = model => model !== models.sandbox

/** Runs each task with a model of every kind, whole and streamed; the exit code is 1 if one fails. */
export async function judge (tasks) {
  for (const [name, task] of Object.entries(tasks)) {
    for (const [kind, model] of Object.entries(models)) {
      for (const stream of [false, true]) {
        const title = `${name}, ${kind}, ${stream ? 'streamed' : 'whole'}`
        try {
          await task(model, stream)
          console.log(`ok ${title}`)
        } catch (error) {
          process.exitCode = 1
          console.log(`not ok ${title}`, error)
        }
      }
    }
  }
}
