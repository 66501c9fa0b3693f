import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type OpenAI from 'openai'

/** OpenAI's SDK for Python, in a process of its own. Its methods throw what the SDK raises. */
export interface PythonClient {
  /** Resolves with the whole answer, or with what `chat.completions.stream` makes of a stream. */
  ask (body: object): Promise<OpenAI.ChatCompletion>
  /** The same with `chat.completions.parse` or `stream`, for an answer of the form `{city: string}`. */
  parse (body: object): Promise<{ choices: { message: { parsed: unknown } }[] }>
  /** The same with `responses.create`, `stream` and `parse`. */
  respond (body: object): Promise<OpenAI.Responses.Response>
  parseResponse (body: object): Promise<{ output: { content: { parsed: unknown }[] }[] }>
  close (): void
}

interface Reply { value?: unknown, error?: string }

/** Starts a client that does not retry. */
export function startPythonClient (python: string, address: { url: string, key: string }): PythonClient {
  const child = spawn(python, ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  async function send (message: object): Promise<unknown> {
    child.stdin.write(`${JSON.stringify({ ...address, ...message })}\n`)
    const { done, value } = await replies.next()
    if (done === true) throw new Error('Python has ended.')
    const { value: answer, error }: Reply = JSON.parse(value)
    if (answer === undefined) throw new Error(error)
    return answer
  }
  return {
    ask: async body => await send({ body }) as OpenAI.ChatCompletion,
    parse: async body => await send({ body, parses: true }) as Awaited<ReturnType<PythonClient['parse']>>,
    respond: async body => await send({ body, responds: true }) as OpenAI.Responses.Response,
    parseResponse: async body => await send({ body, responds: true, parses: true }) as
      Awaited<ReturnType<PythonClient['parseResponse']>>,
    close: () => { child.stdin.end() }
  }
}

const program = `
import json, sys
import openai
from pydantic import BaseModel

class Place(BaseModel):
    city: str

for line in sys.stdin:
    options = json.loads(line)
    body = options['body']
    try:
        client = openai.OpenAI(base_url=options['url'], api_key=options['key'], max_retries=0)
        responds = options.get('responds')
        if options.get('parses'):
            body['text_format' if responds else 'response_format'] = Place
        if responds and body.pop('stream', False):
            with client.responses.stream(**body) as stream:
                for event in stream:
                    pass
                answer = stream.get_final_response()
        elif responds and options.get('parses'):
            answer = client.responses.parse(**body)
        elif responds:
            answer = client.responses.create(**body)
        elif body.pop('stream', False):
            with client.chat.completions.stream(**body) as stream:
                for event in stream:
                    pass
                answer = stream.get_final_completion()
        elif options.get('parses'):
            answer = client.chat.completions.parse(**body)
        else:
            answer = client.chat.completions.create(**body)
        print(json.dumps({'value': answer.to_dict()}), flush=True)
    except Exception as error:
        print(json.dumps({'error': f'{type(error).__name__}: {error}'}), flush=True)
`
