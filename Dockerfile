# docker build -t mcp/memory .
# docker run -i --rm --pull=never -v claude-memory:/app/dist mcp/memory
#
# /app/dist stands for the server's folder: an older image kept the memory there, and its volumes go on.
# The image holds an interpreter, its libraries and the archive (build/image/collect.py), no shell and no package manager.

FROM python:3.13-slim AS build
WORKDIR /src
COPY build build
COPY LICENSE LICENSE
COPY memory_app memory_app
RUN python3 -m build host \
 && python3 build/image/collect.py dist/memory-server-host.pyz /image

FROM scratch
LABEL org.opencontainers.image.title="memory-server" \
      org.opencontainers.image.description="A memory for AI assistants: a knowledge graph in one file" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /image /
ENV MEMORY_SERVER_HOME=/app/dist \
    MEMORY_SERVER_CACHE=/opt/memory-server/cache \
    PYTHONUNBUFFERED=1
WORKDIR /app/dist
# Starts as root to take over an older image's volume, then becomes an unprivileged user; with --user it changes nothing.
# For `serve --http`; healthy as well where nothing listens, since then it serves on stdio.
HEALTHCHECK --interval=30s --timeout=6s CMD ["/python3","-I","-c","import socket,urllib.request as u; s=socket.socket(); s.connect_ex(('127.0.0.1',8765)) or u.urlopen('http://127.0.0.1:8765/ready',timeout=5)"]
ENTRYPOINT ["/python3", "-I", "/opt/memory-server/entry.py"]
