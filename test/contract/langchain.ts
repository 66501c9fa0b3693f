import { fetchedIn, fetchPackages } from '../helpers/fetched.ts'

const name = 'langchain-openai-1.6.0'

/** Where the first run installs LangChain. */
export const langChainFolder = fetchedIn(name)

interface Runnable<Output> {
  invoke (text: string): Promise<Output>
  stream (text: string): Promise<AsyncIterable<Output>>
}

interface Message {
  content: unknown
  tool_calls?: { name: string, args: object }[]
  invalid_tool_calls?: unknown[]
  response_metadata: { finish_reason?: unknown }
  concat (next: Message): Message
}

/** The part of LangChain that tests use. */
interface LangChain {
  ChatOpenAI: new (options: object) => {
    bindTools (tools: readonly object[]): Runnable<Message>
    withStructuredOutput (schema: object, options: object): Runnable<unknown>
  }
  AIMessageChunk: new (content: string) => Message
}

/** Returns LangChain, which the first run installs; null where the registry lacks it. */
export async function findLangChain (): Promise<LangChain | null> {
  const load = await fetchPackages(name, '@langchain/core@1.4.0', '@langchain/openai@1.6.0')
  if (load === null) return null
  const { ChatOpenAI } = await load('@langchain/openai') as LangChain
  const { AIMessageChunk } = await load('@langchain/core/messages') as LangChain
  return { ChatOpenAI, AIMessageChunk }
}
