"""What the judges in Python share: a gateway, its models, and a run that fails if one task fails."""
import asyncio
import inspect
import json
import os
import sys
import traceback

ORIGIN = os.environ['TOLLGATE_ORIGIN']
KEY = os.environ['TOLLGATE_KEY']
MODELS = json.loads(os.environ['TOLLGATE_MODELS'])


def obeys(model):
    """Whether the model does what its prompt says (test/servers/obedient.ts)."""
    return model != MODELS['sandbox']


def equal(actual, expected):
    assert actual == expected, f'{actual!r} is not {expected!r}'


def judge(*tasks):
    """Runs every task with every kind of model, and exits with 1 if one fails."""
    failed = 0
    for task in tasks:
        for kind, model in MODELS.items():
            try:
                result = task(model)
                if inspect.iscoroutine(result):
                    asyncio.run(result)
                print(f'ok {task.__name__}, {kind}')
            except Exception as error:
                failed += 1
                own = [frame for frame in traceback.extract_tb(error.__traceback__) if 'site-packages' not in frame.filename]
                where = ''.join(traceback.format_list(own))
                print(f'not ok {task.__name__}, {kind}\n{where}{type(error).__name__}: {error}')
    sys.exit(1 if failed else 0)
