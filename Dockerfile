# The command line of rosenblatt, compiled ahead. It runs as nobody, and needs no disk that can be written but /tmp.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir --compile -c constraints.txt .
# Learners that are not named here are compiled when they are used, and kept in /tmp.
ENV NUMBA_CACHE_DIR=/opt/code NUMBA_CPU_NAME=generic
RUN /opt/venv/bin/rosenblatt compile averaged passive-aggressive arow logistic linear-svm

FROM python:3.13-slim
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/code /opt/code
ENV PATH=/opt/venv/bin:$PATH NUMBA_CACHE_DIR=/opt/code NUMBA_CPU_NAME=generic PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER 65534:65534
WORKDIR /data
ENTRYPOINT ["rosenblatt"]
CMD ["--help"]
