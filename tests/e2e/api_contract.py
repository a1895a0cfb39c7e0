"""Checks answers of the API against docs/openapi.json: the status is listed, the media type is, the body fits."""

import json
import pathlib
import re

import jsonschema
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

OPENAPI = pathlib.Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


class Contract:
    def __init__(self, text: str | None = None) -> None:
        self.document = json.loads(text or OPENAPI.read_text())
        resource = Resource.from_contents(self.document, default_specification=DRAFT202012)
        self.registry = Registry().with_resource("urn:openapi", resource)
        self.patterns = [(self._pattern(path), path) for path in self.document["paths"]]
        self.seen: set[tuple[str, str, str]] = set()

    @staticmethod
    def _pattern(path: str) -> re.Pattern[str]:
        # "{id}" alone takes no ':' and '/', as the server's routes do.
        parts = re.split(r"\{[^}]*\}", path)
        inner = "[^/]+" if parts[-1] else "[^/:]+"
        return re.compile("^" + inner.join(re.escape(part) for part in parts) + "$")

    def _resolve(self, node: dict) -> dict:
        while "$ref" in node:
            target: dict = self.document
            for part in node["$ref"].lstrip("#/").split("/"):
                target = target[part]
            node = target
        return node

    def route(self, path: str) -> str | None:
        for pattern, template in self.patterns:
            if pattern.match(path):
                return template
        return None

    def schema_errors(self, schema: dict, instance: object) -> list[str]:
        # A reference of the schema stands in the document; give it that base.
        pointed = json.loads(json.dumps(schema).replace('"#/', '"urn:openapi#/'))
        validator = Draft202012Validator(
            pointed, registry=self.registry, format_checker=jsonschema.FormatChecker()
        )
        return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(instance)]

    def check(self, method: str, path: str, status: int, headers: dict, body: bytes) -> None:
        """Raises AssertionError. A path that is not listed may only be answered 404, a method 405."""
        method = "get" if method == "HEAD" else method.lower()
        template = self.route(path)
        operation = self.document["paths"].get(template, {}).get(method) if template else None
        if operation is None:
            expected = (404, 405, 421, 403, 400) if template is None else (405, 421, 403, 400)
            assert status in expected, f"{method} {path} is not listed, and was answered {status}"
            response = self._resolve({"$ref": "#/components/responses/NotFound"})
        else:
            assert str(status) in operation["responses"], f"{method} {template}: {status} is not listed"
            response = self._resolve(operation["responses"][str(status)])
            self.seen.add((method, template, str(status)))
        self._check_headers(response, headers)
        self._check_body(method, path, response, headers, body)

    def _check_headers(self, response: dict, headers: dict) -> None:
        names = {name.lower() for name in headers}
        for name, header in response.get("headers", {}).items():
            required = self._resolve(header).get("required", False)
            assert not required or name.lower() in names, f"the header {name} is missing"
        assert headers.get("x-content-type-options") == "nosniff"
        assert "access-control-allow-origin" not in names

    def _check_body(self, method: str, path: str, response: dict, headers: dict, body: bytes) -> None:
        if "content" not in response:
            assert body == b"", f"{path}: a body where none is listed"
            return
        media = headers.get("content-type", "").split(";")[0].strip()
        assert media in response["content"], f"{path}: {media} is not listed"
        text = body.decode("utf-8")
        if media == "text/plain":
            return
        instance = json.loads(text)
        errors = self.schema_errors(response["content"][media]["schema"], instance)
        assert not errors, f"{method} {path}: {errors[:5]}\n{text[:1000]}"
        if media == "application/problem+json":
            assert instance["type"] == "urn:deadman:problem:" + instance["code"]
            assert instance["instance"].endswith(headers["x-request-id"])
