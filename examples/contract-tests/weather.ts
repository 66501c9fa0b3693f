import OpenAI from 'openai'

type Tool = OpenAI.ChatCompletionFunctionTool

const tool: Tool = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
}

/** The app under test: answers a question, with the weather where the model requests it. */
export async function answer (
  client: OpenAI, question: string, weatherIn: (city: string) => string
): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  for (let round = 0; round < 3; round++) {
    const { choices: [choice] } = await client.chat.completions.create({ model: 'gpt-4o', messages, tools: [tool] })
    if (choice === undefined) break
    const { message } = choice
    if (message.refusal != null) return 'I cannot help with that.'
    if (message.tool_calls === undefined) return message.content ?? ''
    messages.push(message)
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue
      const { city } = JSON.parse(call.function.arguments) as { city: string }
      messages.push({ role: 'tool', tool_call_id: call.id, content: weatherIn(city) })
    }
  }
  throw new Error('The model did not come to an end.')
}
