"""OpenAI's SDK: responses.create, stream and parse."""
import json

import openai
from judge import KEY, ORIGIN, equal, judge, obeys
from pydantic import BaseModel

client = openai.OpenAI(base_url=f'{ORIGIN}/v1', api_key=KEY, max_retries=0)


class Place(BaseModel):
    city: str


weather = {
    'type': 'function',
    'name': 'get_weather',
    'description': 'Tells the weather in a city',
    'strict': True,
    'parameters': {
        'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city'], 'additionalProperties': False,
    },
}
call = 'CALL get_weather {"city": "Paris"}'


def streamed(**body):
    with client.responses.stream(**body) as stream:
        events = list(stream)
        answer = stream.get_final_response()
    equal([event.sequence_number for event in events], list(range(len(events))))
    equal((events[0].type, events[-1].type), ('response.created', 'response.completed'))
    return answer


ways = (client.responses.create, streamed)


def answers(model):
    for ask in ways:
        answer = ask(model=model, input='SAY Grüße 👩‍👩‍👧‍👦', instructions='Be brief.')
        equal(answer.status, 'completed')
        assert answer.usage.output_tokens > 0 and answer.output_text != ''
        if obeys(model):
            equal(answer.output_text, 'Grüße 👩‍👩‍👧‍👦')


def raw_stream(model):
    events = list(client.responses.create(model=model, input='SAY One two three', stream=True))
    text = ''.join(event.delta for event in events if event.type == 'response.output_text.delta')
    equal(text, events[-1].response.output_text)


def parses(model):
    body = {'model': model, 'input': 'JSON {"city": "Paris"}', 'text_format': Place}
    for ask in (client.responses.parse, streamed):
        place = ask(**body).output_parsed
        assert isinstance(place, Place), place
        if obeys(model):
            equal(place.city, 'Paris')


def runs_tools(model):
    for ask in ways:
        for stored in (True, False):
            question = [{'role': 'user', 'content': f'THINK It may rain.\n{call}'}]
            body = {'model': model, 'tools': [weather], 'reasoning': {'effort': 'low', 'summary': 'auto'}}
            more = {} if stored else {'store': False, 'include': ['reasoning.encrypted_content']}
            first = ask(input=question, **body, **more)
            if obeys(model):
                equal([item.type for item in first.output], ['reasoning', 'function_call'])
                equal(first.output[0].summary[0].text, 'It may rain.')
            asked = next(item for item in first.output if item.type == 'function_call')
            assert isinstance(json.loads(asked.arguments)['city'], str)
            result = {'type': 'function_call_output', 'call_id': asked.call_id, 'output': 'Sunny, 25 °C'}
            if stored:
                second = ask(input=[result], previous_response_id=first.id, **body)
                equal(second.previous_response_id, first.id)
            else:
                second = ask(input=[*question, *first.output, result], **body, **more)
            assert 'Sunny, 25 °C' in second.output_text, second.output_text


def reads_and_deletes(model):
    answer = client.responses.create(model=model, input='SAY Hi')
    equal(client.responses.retrieve(answer.id).output_text, answer.output_text)
    equal(client.responses.input_items.list(answer.id).data[0].content[0].text, 'SAY Hi')
    client.responses.delete(answer.id)
    try:
        client.responses.retrieve(answer.id)
        raise AssertionError('it was not deleted')
    except openai.NotFoundError:
        pass


def refuses_by_name(model):
    web = [{'type': 'web_search'}]
    for param, more in (('background', {'background': True}), ('tools[0].type', {'tools': web, 'tool_choice': 'required'})):
        try:
            client.responses.create(model=model, input='x', **more)
            raise AssertionError(f'{param} was taken')
        except openai.BadRequestError as error:
            equal(error.param, param)


judge(answers, raw_stream, parses, runs_tools, reads_and_deletes, refuses_by_name)
