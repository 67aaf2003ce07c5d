#!/usr/bin/env bash
# Build, tag and publish a release.
set -euo pipefail

VERSION="${1:?usage: release.sh VERSION}"

check_clean_tree() {
  if [ -n "$(git status --porcelain)" ]; then
    echo "the working tree has uncommitted changes" >&2
    exit 1
  fi
}

build_artifacts() {
  make clean all
  tar czf "packrat-$VERSION.tar.gz" target/release/packrat agent/agent
}

publish() {
  git tag -s "v$VERSION" -m "Packrat $VERSION"
  git push origin "v$VERSION"
}

check_clean_tree
build_artifacts
publish
