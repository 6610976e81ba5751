# docker build -t kcompact . && docker run --rm -v "$PWD:/data" kcompact compact dump.avro
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/kcompact \
 && /opt/kcompact/bin/pip install --no-cache-dir "/source[state]" \
 && /opt/kcompact/bin/python -P /source/.ci/slim /opt/kcompact

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libnss-wrapper \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home kcompact
COPY --from=build /opt/kcompact /opt/kcompact
COPY .ci/entrypoint /usr/local/bin/entrypoint
USER kcompact
ENV CI=container PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/entrypoint"]
CMD ["--help"]
