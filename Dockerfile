# The image of `squadron serve`: the service, git, and nothing that builds.
#
#   docker build --tag squadron .
#   docker run --stop-timeout 90 --publish 8000:8000 --volume squadron:/data \
#     --env-file .squadron-data/squadron.env \
#     --cap-drop ALL --security-opt no-new-privileges \
#     --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
#     --security-opt systempaths=unconfined squadron
#
# compose.yaml says the same. Each agent works in a sandbox of its own inside this container:
# docs/how-to/allow-the-sandbox.md says what each option is for, and without them the service does
# not start. What agents' work needs besides git and Python (compilers, test runners) belongs into an
# image that is built FROM this one. `--build-arg EXTRAS=claude,copilot` adds the coding agents that
# roles may name as their runtime; `s3` what SQUADRON_ARTIFACTS=s3://… needs.

# By its digest, which names the same bytes whenever it is built.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS base

FROM base AS build
ARG EXTRAS=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/squadron
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
# What Squadron needs comes in a layer before its code, which changes more often: an empty package
# stands in for that.
RUN mkdir app && touch app/__init__.py \
 && /opt/squadron/bin/pip install --constraint constraints.txt ".${EXTRAS:+[$EXTRAS]}"
COPY app ./app
RUN /opt/squadron/bin/pip install --no-deps --force-reinstall .
# The Copilot CLI comes from npm; what it runs is one program, which needs no Node.
RUN mkdir -p /opt/bin \
 && case ",$EXTRAS," in *,copilot,*) \
      apt-get update && apt-get install --yes --no-install-recommends npm \
      && version="$(/opt/squadron/bin/python -c \
           'from app.adapters.runtimes import copilot; print(copilot.CLI_VERSION)')" \
      && npm install --no-fund --no-audit --prefix /opt/clis "@github/copilot@$version" \
      && cp /opt/clis/node_modules/@github/copilot-linux-*/copilot /opt/bin/ ;; \
    esac

FROM base
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --create-home --shell /usr/sbin/nologin squadron \
 && install --directory --owner=squadron --group=squadron --mode=0700 /data
COPY --from=build /opt/squadron /opt/squadron
COPY --from=build /opt/bin /usr/local/bin
# Pages for whoever is at this machine would listen where no browser is.
ENV PATH=/opt/squadron/bin:$PATH PYTHONUNBUFFERED=1 SQUADRON_DATA_DIR=/data SQUADRON_PAGES=off
USER squadron
WORKDIR /home/squadron
VOLUME /data
EXPOSE 8000
# SIGTERM makes the service drain: running agents keep their work. That takes up to 70 s,
# and Docker waits for 10: run with `--stop-timeout 90`, or with `stop_grace_period: 90s`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
# tini ends the orphans of agents and hands the signal on.
ENTRYPOINT ["tini", "--"]
CMD ["squadron", "serve", "--host", "0.0.0.0", "--port", "8000"]
