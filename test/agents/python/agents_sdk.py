"""OpenAI's Agents SDK on the Responses API: tools, hand-offs, streams, objects and conversations."""
import openai
from agents import (
    Agent, ModelSettings, Runner, SQLiteSession, function_tool, set_default_openai_client, set_tracing_disabled,
)
from judge import KEY, ORIGIN, equal, judge, obeys
from openai.types.shared import Reasoning
from pydantic import BaseModel

set_tracing_disabled(True)


class Place(BaseModel):
    city: str


@function_tool
def get_weather(city: str) -> str:
    """Tells the weather in a city."""
    return 'Sunny, 25 °C'


call = 'CALL get_weather {"city": "Paris"}'


async def run(agent, text, stream=False, **more):
    # Each task has an event loop of its own, which connections cannot leave.
    set_default_openai_client(openai.AsyncOpenAI(base_url=f'{ORIGIN}/v1', api_key=KEY, max_retries=0))
    if not stream:
        return await Runner.run(agent, text, **more)
    result = Runner.run_streamed(agent, text, **more)
    kinds = [event.type async for event in result.stream_events()]
    assert 'raw_response_event' in kinds and 'run_item_stream_event' in kinds, kinds
    return result


async def runs_tools(model):
    settings = ModelSettings(reasoning=Reasoning(effort='low', summary='auto'), parallel_tool_calls=False)
    agent = Agent(name='Weather', instructions='Be brief.', model=model, tools=[get_weather], model_settings=settings)
    for stream in (False, True):
        result = await run(agent, f'THINK It may rain.\n{call}', stream)
        assert 'Sunny, 25 °C' in result.final_output, result.final_output
        if obeys(model):
            kinds = [item.type for item in result.new_items]
            equal(kinds, ['reasoning_item', 'tool_call_item', 'tool_call_output_item', *kinds[3:]])


async def hands_off(model):
    weather = Agent(name='Weather', instructions='You know the weather.', model=model, tools=[get_weather])
    triage = Agent(name='Triage', instructions='Hand off.', model=model, handoffs=[weather])
    for stream in (False, True):
        result = await run(triage, f'CALL transfer_to_weather {{}}\n{call}', stream)
        equal(result.last_agent.name, 'Weather')
        if obeys(model):
            assert 'Sunny, 25 °C' in result.final_output, result.final_output


async def uses_an_agent_as_a_tool(model):
    weather = Agent(name='Weather', instructions='You know the weather.', model=model)
    tool = weather.as_tool(tool_name='ask_weather', tool_description='Knows the weather')
    agent = Agent(name='Main', model=model, tools=[tool])
    result = await run(agent, 'CALL ask_weather {"input": "SAY Sunny, 25 °C"}')
    if obeys(model):
        equal(result.final_output, 'Sunny, 25 °C')


async def returns_objects(model):
    agent = Agent(name='Places', model=model, output_type=Place)
    for stream in (False, True):
        result = await run(agent, 'JSON {"city": "Paris"}', stream)
        assert isinstance(result.final_output, Place), result.final_output
        if obeys(model):
            equal(result.final_output.city, 'Paris')


async def goes_on(model):
    agent = Agent(name='Weather', model=model, tools=[get_weather])
    session = SQLiteSession('one')
    for stream in (False, True):
        await run(agent, call, stream, session=session)
        await run(agent, 'SAY And tomorrow?', stream, session=session)
    assert len(await session.get_items()) >= 8
    first = await run(agent, call)
    for stream in (False, True):
        result = await run(agent, 'SAY Tomorrow too.', stream, previous_response_id=first.last_response_id)
        assert result.final_output != ''
        if obeys(model):
            equal(result.final_output, 'Tomorrow too.')
        result = await run(agent, call, stream, auto_previous_response_id=True)
        assert 'Sunny, 25 °C' in result.final_output, result.final_output


judge(runs_tools, hands_off, uses_an_agent_as_a_tool, returns_objects, goes_on)
