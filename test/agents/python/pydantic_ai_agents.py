"""pydantic-ai with its models `openai:` (the Responses API) and `anthropic:` (the Messages API)."""
import os

from judge import KEY, ORIGIN, equal, judge, obeys
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIResponsesModel

os.environ.update(
    OPENAI_BASE_URL=f'{ORIGIN}/v1', OPENAI_API_KEY=KEY, ANTHROPIC_BASE_URL=ORIGIN, ANTHROPIC_API_KEY=KEY)


class Place(BaseModel):
    city: str


def get_weather(city: str) -> str:
    """Tells the weather in a city."""
    return 'Sunny, 25 °C'


call = 'CALL get_weather {"city": "Paris"}'
thinking = {
    'openai': {'openai_reasoning_effort': 'low', 'openai_reasoning_summary': 'auto'},
    'anthropic': {'anthropic_thinking': {'type': 'enabled', 'budget_tokens': 1024}, 'max_tokens': 4000},
}


def agents(model, **more):
    for provider in ('openai', 'anthropic'):
        agent = Agent(f'{provider}:{model}', retries=0, **more)
        assert provider == 'anthropic' or isinstance(agent.model, OpenAIResponsesModel), agent.model
        yield provider, agent


async def ask(agent, text, stream, **more):
    if not stream:
        result = await agent.run(text, **more)
        return result.output, result.all_messages()
    async with agent.run_stream(text, **more) as result:
        output = await result.get_output()
        return output, result.all_messages()


async def runs_tools(model):
    for provider, agent in agents(model, tools=[get_weather], instructions='Be brief.'):
        for stream in (False, True):
            output, messages = await ask(
                agent, f'THINK It may rain.\n{call}', stream, model_settings=thinking[provider])
            assert 'Sunny, 25 °C' in output, output
            thoughts = [part.content for message in messages for part in message.parts if isinstance(part, ThinkingPart)]
            if obeys(model):
                assert 'It may rain.' in thoughts, messages
            output, _ = await ask(agent, 'SAY Bye', stream, message_history=messages, model_settings=thinking[provider])
            assert output != ''
            if obeys(model):
                equal(output, 'Bye')


async def returns_objects(model):
    for form in (NativeOutput, ToolOutput, PromptedOutput):
        for provider, agent in agents(model, output_type=form(Place)):
            if form is NativeOutput and provider == 'anthropic' and not model.startswith('claude'):
                continue  # The client does not try it with names that it does not know.
            for stream in (False, True):
                prompt = 'JSON {"city": "Paris"}'
                if form is PromptedOutput:
                    if not obeys(model):
                        continue
                    prompt = 'SAY {"city": "Paris"}\n' + prompt
                output, _ = await ask(agent, prompt, stream)
                assert isinstance(output, Place), output
                if obeys(model):
                    equal(output.city, 'Paris')


judge(runs_tools, returns_objects)
