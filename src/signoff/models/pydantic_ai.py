"""The port `Model` over pydantic-ai, for providers that signoff does not speak to itself.

Always streams, since only then arguments stay as they came; asks once, the provider client's own second attempts being
switched off; and believes the end of a response only by both proofs of `pydantic_ai_facts`. Its records have
`Api.OTHER`: their facts are as the library has them, which knows less than the bytes do.

Prefer `anthropic:` for Anthropic: its `message_stop` and `content_block_stop` cannot be seen through the library. A
whole response of it, or of any provider whose end is as hidden, has the oddity `end_marker_not_visible`; a call there
that shows no arguments is open, since they may have been lost, and open calls are not run.

What a provider's client raises never leaves here with its frames, in whose variables keys are.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import anyio
import httpx2
from pydantic_ai import direct, exceptions, messages
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.settings import ModelSettings

from signoff.core.model.deltas import Delta
from signoff.core.model.ending import Exchange, conclude
from signoff.core.model.request import ModelRequest
from signoff.core.model.response import Failure, FailureKind, ModelResponse
from signoff.errors import ConfigError, PolicyError, ProtocolViolation
from signoff.models.names import Adapted
from signoff.models.one_reader import OneReader, recorded
from signoff.models.prompts import request_of
from signoff.models.pydantic_ai_course import Course, Watch
from signoff.models.pydantic_ai_facts import Seen, deltas_of, gathered
from signoff.models.pydantic_ai_faults import failure_of_theirs
from signoff.models.pydantic_ai_messages import history_of, parameters_of, settings_of
from signoff.models.timeouts import Timeouts

_GIVEN_UP = Failure(kind=FailureKind.CANCELLED, where="host")
_SHOWN = 300
_Raised = TypeVar("_Raised", bound=BaseException)


def open_adapted(named: Adapted, timeouts: Timeouts | None) -> "PydanticAIModel":
    """Open a model of pydantic-ai by its name; the provider's library finds its key itself. Raises `ConfigError`."""
    try:
        model = infer_model(f"{named.provider}:{named.model}")
    except ImportError as error:
        raise ConfigError(
            f"the provider of {named.name} needs a library that is not installed; nothing was started; "
            f"pip install 'pydantic-ai-slim[{named.provider}]' ({type(error).__name__})"
        ) from None
    except exceptions.UserError as error:
        said = str(error).replace("\n", " ")[:_SHOWN]
        raise ConfigError(f"pydantic-ai cannot open {named.name}; nothing was started; it says: {said}") from None
    except Exception as error:  # noqa: BLE001 - a provider's client may raise anything, with a key in it
        kind = type(error).__name__
        raise ConfigError(
            f"the client of {named.name} cannot be made ({kind}); nothing was started; check that provider's variables"
        ) from None
    if "max_retries" in model.unsupported_settings:
        raise ConfigError(
            f"the client of {named.name} repeats requests by itself and cannot be told not to; nothing was started; "
            "make a client that does not, and give its model to PydanticAIModel"
        )
    return PydanticAIModel(model, name=named.name, timeouts=timeouts)


class PydanticAIModel:
    """A model that pydantic-ai reaches. `name` is how records show it.

    A model that you made yourself is taken as it is: switch off what its client repeats.
    """

    def __init__(self, model: TheirModel, *, name: str = "", timeouts: Timeouts | None = None) -> None:
        self._model = model
        self._name = name or f"pydantic-ai:{model.system}:{model.model_name}"
        self._settings = _client_settings(model, timeouts or Timeouts())
        self._entering = anyio.Lock(fast_acquire=True)  # so that closing while cancelled still closes
        self._entered = False
        self._closed = False

    @property
    def name(self) -> str:
        """The model as the user named it."""
        return self._name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def stream(self, request: ModelRequest | str) -> AbstractAsyncContextManager["PydanticAIStream"]:
        """Send a request, or a text of the user, and read its response as it comes; leaving early ends the connection.

        Entering raises `PolicyError` for what pydantic-ai cannot be told. The iteration sends the request.
        """
        asked = request_of(request)
        return PydanticAIStream(lambda: self._prepared(asked))

    async def respond(self, request: ModelRequest | str) -> ModelResponse:
        """Send a request, or a text of the user, and read its response at once; underneath it is streamed."""
        async with self.stream(request) as stream:
            async for _ in stream:
                pass
        return stream.response

    async def close(self) -> None:
        """Let go of connections; a second call does nothing."""
        self._closed = True
        async with self._entering:
            if self._entered:
                self._entered = False
                await _closed_quietly(self._model)

    async def _prepared(self, request: ModelRequest) -> "_Call":
        self._must_be_open()
        history, parameters = history_of(request.messages), parameters_of(request)
        asked = settings_of(request, ignored=self._model.unsupported_settings)
        settings: ModelSettings = {**self._settings, **asked}
        async with self._entering:
            self._must_be_open()
            if not self._entered:
                await self._enter()
                self._entered = True
        return _Call(self._model, history, settings, parameters, request.max_output_tokens)

    def _must_be_open(self) -> None:
        if self._closed:
            raise ProtocolViolation(f"the model {self._name} is closed; nothing was sent; open it anew")

    async def _enter(self) -> None:
        """Start the provider's client. Raises `ConfigError`; the next request tries again."""
        raised: BaseException
        try:
            await self._model.__aenter__()
        except Warning as error:
            raised = _bare(error)
        except Exception as error:  # noqa: BLE001 - a provider's client may raise anything, with a key in it
            kind = type(error).__name__
            raised = ConfigError(f"the client of {self._name} cannot be started ({kind}); nothing was sent; mend it")
        except BaseException as error:  # noqa: BLE001 - and raised again
            raised = _bare(error)
        else:
            return
        raise raised from None


class _Call(NamedTuple):
    """A request that is ready to be sent."""

    model: TheirModel
    history: list[messages.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    max_output_tokens: int | None

    def opened(self) -> AbstractAsyncContextManager[StreamedResponse]:
        """The library's own stream; entering it sends the request."""
        return direct.model_request_stream(
            self.model, self.history, model_settings=self.settings, model_request_parameters=self.parameters
        )


class PydanticAIStream:
    """Implements the port `ResponseStream`; it is the context manager too.

    Leaving early ends the connection where the provider's client lets it; Google's keeps it until the model is closed.
    """

    def __init__(self, prepare: Callable[[], Awaitable[_Call]]) -> None:
        self._prepare = prepare
        self._call: _Call | None = None
        self._context: AbstractAsyncContextManager[StreamedResponse] | None = None
        self._theirs: StreamedResponse | None = None
        self._watch: Watch | None = None
        self._events: AsyncIterator[object] | None = None
        self._places: dict[int, int] = {}
        self._deltas: deque[Delta] = deque()
        self._response: ModelResponse | None = None
        self._one_reader = OneReader()

    async def __aenter__(self) -> Self:
        self._one_reader.enter()
        self._call = await self._prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._conclude(_GIVEN_UP)
        await self._left()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        """Give the next delta; ends with the response, however that ended."""
        with self._one_reader:
            while not self._deltas:
                if self._response is not None:
                    raise StopAsyncIteration
                await self._advance()
        return self._deltas.popleft()

    @property
    def response(self) -> ModelResponse:
        """The record, once the iteration has ended or the context was left."""
        return recorded(self._response)

    async def _advance(self) -> None:
        """Take one step: send the request, or read one event."""
        failure = _GIVEN_UP
        raised: BaseException | None = None
        try:
            await (self._opened() if self._events is None else self._read(self._events))
        except exceptions.UserError:
            raised = PolicyError("pydantic-ai refuses the request for this model; see its documentation")
        except (ProtocolViolation, Warning) as error:  # a warning is raised where the caller wants it to be an error
            raised = _bare(error)
        except Exception as error:  # noqa: BLE001 - the port: whatever a provider's client raises becomes the record
            failure = failure_of_theirs(error, begun=self._theirs is not None)
        except BaseException as error:  # noqa: BLE001 - and raised again
            raised = _bare(error)
        else:
            return
        self._conclude(failure)
        if raised is not None:
            raise raised from None

    async def _opened(self) -> None:
        if self._call is None:
            raise ProtocolViolation("a stream was read outside its context; nothing was sent; use `async with`")
        context = self._call.opened()
        self._theirs = await context.__aenter__()
        self._context = context
        self._watch = Watch(self._theirs)
        self._events = aiter(self._theirs)

    async def _read(self, events: AsyncIterator[object]) -> None:
        try:
            event = await anext(events)
        except StopAsyncIteration:
            self._conclude(None, ended=True)
        else:
            if self._watch is not None:
                self._watch.saw(event)
            self._deltas.extend(deltas_of(event, self._places))

    def _conclude(self, failure: Failure | None, *, ended: bool = False) -> None:
        """Make the record, once: what is known first stands."""
        if self._response is not None or self._call is None:
            return
        theirs = None if self._theirs is None else self._theirs.get()
        course = Course() if self._watch is None else self._watch.course
        facts = gathered(Seen(response=theirs, ended=ended, failure=failure, course=course))
        self._response = conclude(facts, Exchange(max_output_tokens=self._call.max_output_tokens))

    async def _left(self) -> None:
        """Close the connection; whatever the provider's client says about that changes nothing."""
        context, self._context = self._context, None
        if context is not None:
            await _closed_quietly(context)


async def _closed_quietly(context: AbstractAsyncContextManager[object]) -> None:
    """Leave a context of the library; only what ends the task itself comes out of that."""
    raised: BaseException
    try:
        await context.__aexit__(None, None, None)
    except Exception:  # noqa: BLE001 - a provider's client may raise anything, with a key in it
        return
    except BaseException as error:  # noqa: BLE001 - and raised again
        raised = _bare(error)
    else:
        return
    raise raised from None


def _bare(error: _Raised) -> _Raised:
    """An exception without the frames of the provider's client, which hold the request's headers."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _client_settings(model: TheirModel, timeouts: Timeouts) -> ModelSettings:
    """What each request tells the provider's client: to ask once, and how long to wait."""
    settings: ModelSettings = {}
    ignored = model.unsupported_settings
    if "max_retries" not in ignored:
        settings["max_retries"] = 0
    if "timeout" not in ignored and timeouts.idle is not None:
        # Google's client takes one number for all waits.
        parts = httpx2.Timeout(timeouts.idle, connect=timeouts.connect)
        settings["timeout"] = timeouts.idle if model.system.startswith("google") else parts
    return settings
