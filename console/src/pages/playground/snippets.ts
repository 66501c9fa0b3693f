export type Operation = 'chat' | 'image' | 'video'

export const languages = ['curl', 'Python', 'JavaScript'] as const
export type Language = typeof languages[number]

const operations: Record<Operation, { path: string, method: string }> = {
  chat: { path: '/chat/completions', method: 'chat.completions.create' },
  image: { path: '/images/generations', method: 'images.generate' },
  video: { path: '/videos', method: 'videos.create' }
}

type Body = Readonly<Record<string, unknown>>

/** The program of a call, by curl or an SDK of OpenAI; it reads the key from `TOLLGATE_KEY`. */
export function snippet (language: Language, operation: Operation, baseUrl: string, body: Body): string {
  const { path, method } = operations[operation]
  if (language === 'curl') {
    return `curl ${baseUrl}${path} \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`
  }
  if (language === 'Python') {
    const fields = Object.entries(body).map(([name, value]) => `    ${name}=${toPython(value)},\n`).join('')
    return `import os
from openai import OpenAI

client = OpenAI(base_url=${toPython(baseUrl)}, api_key=os.environ["TOLLGATE_KEY"])
answer = client.${method}(
${fields})
${body['stream'] === true ? 'for chunk in answer:\n    print(chunk.model_dump_json())' : 'print(answer.model_dump_json())'}`
  }
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: process.env.TOLLGATE_KEY })
const answer = await client.${method}(${JSON.stringify(body, null, 2)})
${body['stream'] === true ? 'for await (const chunk of answer) console.log(JSON.stringify(chunk))' : 'console.log(JSON.stringify(answer))'}`
}

/** A JSON value as a Python literal on one line. */
function toPython (value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toPython(item)}`).join(', ')}}`
}
