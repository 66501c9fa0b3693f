"""Anthropic's SDK: messages.create and stream, tools, thinking, counts, models and what is refused."""
import anthropic
from judge import KEY, MODELS, ORIGIN, equal, judge, obeys
from pydantic import BaseModel

client = anthropic.Anthropic(base_url=ORIGIN, api_key=KEY, max_retries=0)


class Place(BaseModel):
    city: str


weather = {
    'name': 'get_weather',
    'description': 'Tells the weather in a city',
    'input_schema': {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']},
}
call = 'CALL get_weather {"city": "Paris"}'


def streamed(**body):
    with client.messages.stream(**body) as stream:
        events = [event.type for event in stream]
        message = stream.get_final_message()
    equal((events[0], events[-1]), ('message_start', 'message_stop'))
    return message


ways = (client.messages.create, streamed)


def said(text):
    return [{'role': 'user', 'content': text}]


def text_of(message):
    return ''.join(block.text for block in message.content if block.type == 'text')


def answers(model):
    for ask in ways:
        message = ask(model=model, max_tokens=500, system='Be brief.', messages=said('SAY Grüße 👩‍👩‍👧‍👦'))
        equal((message.type, message.role, message.stop_reason), ('message', 'assistant', 'end_turn'))
        assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0
        if obeys(model):
            equal(text_of(message), 'Grüße 👩‍👩‍👧‍👦')


def text_stream(model):
    with client.messages.stream(model=model, max_tokens=500, messages=said('SAY One two three')) as stream:
        text = ''.join(stream.text_stream)
        equal(text, text_of(stream.get_final_message()))


def runs_tools_after_thoughts(model):
    for ask in ways:
        question = said(f'THINK It may rain.\n{call}')
        body = {
            'model': model, 'max_tokens': 4000, 'tools': [weather], 'thinking': {'type': 'enabled', 'budget_tokens': 1024},
        }
        first = ask(messages=question, **body)
        equal(first.stop_reason, 'tool_use')
        if obeys(model):
            thought, used = first.content
            equal((thought.type, thought.thinking), ('thinking', 'It may rain.'))
            assert thought.signature != ''
            equal((used.type, used.input), ('tool_use', {'city': 'Paris'}))
        used = first.content[-1]
        result = {'type': 'tool_result', 'tool_use_id': used.id, 'content': 'Sunny, 25 °C'}
        messages = [*question, {'role': 'assistant', 'content': first.content}, {'role': 'user', 'content': [result]}]
        second = ask(messages=messages, **body)
        assert 'Sunny, 25 °C' in text_of(second), second


def runs_tools_itself(model):
    asked = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Tells the weather in a city

        Args:
            city: its name
        """
        asked.append(city)
        return 'Sunny, 25 °C'

    for stream in (False, True):
        runner = client.beta.messages.tool_runner(
            model=model, max_tokens=500, tools=[get_weather], messages=said(call), stream=stream)
        assert 'Sunny, 25 °C' in text_of(runner.until_done())
    equal(len(asked), 2)


def parses(model):
    message = client.messages.parse(
        model=model, max_tokens=500, messages=said('JSON {"city": "Paris"}'), output_format=Place)
    assert isinstance(message.parsed_output, Place), message
    if obeys(model):
        equal(message.parsed_output.city, 'Paris')


def counts_and_lists(model):
    few = client.messages.count_tokens(model=model, messages=said('Hi')).input_tokens
    assert 0 < few < 100, few
    names = [each.id for each in client.models.list(limit=2)]
    assert set(MODELS.values()) <= set(names), names
    equal(client.models.retrieve(model).type, 'model')


def refuses_clearly(model):
    def rejected(kind, work):
        try:
            work()
        except kind as error:
            return error
        raise AssertionError(f'no {kind.__name__}')

    request = {'custom_id': '1', 'params': {'model': model, 'max_tokens': 5, 'messages': said('Hi')}}
    error = rejected(anthropic.NotFoundError, lambda: client.messages.batches.create(requests=[request]))
    assert '/v1/messages/batches' in error.message, error.message
    stranger = client.with_options(api_key='sk-tg-wrong')
    rejected(anthropic.AuthenticationError, lambda: stranger.messages.create(**request['params']))
    rejected(anthropic.NotFoundError, lambda: client.messages.create(**{**request['params'], 'model': 'no-such'}))
    error = rejected(anthropic.BadRequestError, lambda: client.messages.create(**request['params'], container='c_1'))
    assert 'container' in error.message, error.message


judge(
    answers, text_stream, runs_tools_after_thoughts, runs_tools_itself, parses, counts_and_lists, refuses_clearly)
