import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import OpenAI from 'openai'
import { request } from 'undici'
import { createRandom } from '../services/billing/ledger/random.ts'

/** How one request for a video went, as its client saw it. */
export interface Outcome {
  client: 'openai-node' | 'openai-python'
  failure: string | null
  /** Requests that its SDK sent, the first one included. */
  attempts: number
  seconds: number
}

export interface ClientOptions {
  /** Base URL of the API, before a load balancer. */
  url: string
  key: string
  /** How many clients wait for a video at the same time, each for one after the other. */
  clients: number
  /** How long a video takes at its provider. */
  fromMs: number
  toMs: number
  seed: number
  /** Makes the prompts of these clients distinct. */
  name: string
}

export interface Clients {
  /** Requests no more videos; resolves with all outcomes when the last one has come. */
  stop (): Promise<Outcome[]>
}

/** Clients with OpenAI's SDK for Node.js and its own number of retries. */
export function startNodeClients (options: ClientOptions): Clients {
  const { url, key, clients, fromMs, toMs, seed, name } = options
  const random = createRandom(seed)
  const outcomes: Outcome[] = []
  const stopped = new AbortController()
  async function ask (prompt: string): Promise<void> {
    const [started, sent] = [performance.now(), { attempts: 0 }]
    const client = new OpenAI({
      baseURL: url,
      apiKey: key,
      fetch: async (...given) => {
        sent.attempts++
        return await fetch(...given)
      }
    })
    let failure: string | null
    try {
      const answer = await client.chat.completions.create({ model: 'film', messages: [{ role: 'user', content: prompt }] })
      failure = await fetchVideo(answer.choices[0]?.message.content ?? '')
    } catch (error) {
      failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    }
    const seconds = (performance.now() - started) / 1000
    outcomes.push({ client: 'openai-node', failure, ...sent, seconds })
  }
  const working = Array.from({ length: clients }, async (_, index) => {
    for (let turn = 0; !stopped.signal.aborted; turn++) {
      await ask(`${name} of node ${index}, turn ${turn}, takes ${random.integer(fromMs, toMs)}`)
    }
  })
  return {
    async stop () {
      stopped.abort()
      await Promise.all(working)
      return outcomes
    }
  }
}

/** Null if the address is that of a video. */
async function fetchVideo (url: string): Promise<string | null> {
  if (!url.startsWith('http')) return `The content is ${JSON.stringify(url)}`
  const answer = await request(url)
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  return bytes.toString('latin1', 4, 8) === 'ftyp' ? null : `${url} is ${answer.statusCode}`
}

/** The same with OpenAI's SDK for Python, in one process. */
export function startPythonClients (python: string, options: ClientOptions): Clients {
  const child = spawn(python, ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const outcomes: Outcome[] = []
  createInterface({ input: child.stdout }).on('line', line => {
    outcomes.push({ client: 'openai-python', ...JSON.parse(line) })
  })
  child.stdin.write(`${JSON.stringify(options)}\n`)
  return {
    async stop () {
      child.stdin.end()
      const [code] = await exited
      const failure = `the Python process ended with ${code}`
      return code === 0 ? outcomes : [...outcomes, { client: 'openai-python', failure, attempts: 0, seconds: 0 }]
    }
  }
}

/** Reads its options from the first line of its input, and works until the input ends. */
const program = `
import asyncio, json, random, sys, time, urllib.request
import openai

options = json.loads(sys.stdin.readline())
rng = random.Random(options['seed'])
stopped = asyncio.Event()
# Newer versions of the SDK have a client of their own.
Http = getattr(openai, 'DefaultAsyncHttpx2Client', None) or openai.DefaultAsyncHttpxClient

def is_video(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()[4:8] == b'ftyp'

async def ask(prompt):
    started, sent = time.monotonic(), 0
    async def count(request):
        nonlocal sent
        sent += 1
    http = Http(event_hooks={'request': [count]})
    client = openai.AsyncOpenAI(base_url=options['url'], api_key=options['key'], http_client=http)
    try:
        answer = await client.chat.completions.create(model='film', messages=[{'role': 'user', 'content': prompt}])
        url = answer.choices[0].message.content
        found = url.startswith('http') and await asyncio.to_thread(is_video, url)
        failure = None if found else f'The content is {url!r}'
    except Exception as error:
        failure = f'{type(error).__name__}: {error}'
    await client.close()
    print(json.dumps({'failure': failure, 'attempts': sent, 'seconds': time.monotonic() - started}), flush=True)

async def work(index):
    turn = 0
    while not stopped.is_set():
        takes = rng.randint(options['fromMs'], options['toMs'])
        await ask(f"{options['name']} of python {index}, turn {turn}, takes {takes}")
        turn += 1

async def main():
    async def watch():
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        stopped.set()
    await asyncio.gather(watch(), *(work(index) for index in range(options['clients'])))

asyncio.run(main())
`
