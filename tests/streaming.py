"""Reads a stream to its end, for tests that ask what became of it."""

from signoff.core.model.request import ModelRequest
from signoff.core.model.response import ModelResponse
from signoff.ports import Model


async def streamed(model: Model, request: ModelRequest) -> ModelResponse:
    """The record of one streamed response."""
    async with model.stream(request) as stream:
        async for _ in stream:
            pass
    return stream.response
