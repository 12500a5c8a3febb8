#!/usr/bin/env bash
# Builds src/elasticgnn/report/assets/vendor/graph-viewer.min.js: sigma, graphology and its ForceAtlas2 from npm,
# at the versions below, joined by esbuild into one script that defines `GraphViewer`; their licences go beside it.
# Run: scripts/build_graph_viewer.sh (needs node and npm)
set -euo pipefail
target=$(cd "$(dirname "$0")/.." && pwd)/src/elasticgnn/report/assets/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit sigma@3.0.3 graphology@0.26.0 graphology-layout-forceatlas2@0.10.1 \
  graphology-utils@2.5.2 events@3.3.0 esbuild@0.25.12
cat >entry.js <<'END'
import Graph from "graphology";
import Sigma from "sigma";
import forceAtlas2 from "graphology-layout-forceatlas2";
export { Graph, Sigma, forceAtlas2 };
END
npx esbuild entry.js --bundle --minify --format=iife --global-name=GraphViewer --legal-comments=inline \
  --log-level=warning --outfile="$target/graph-viewer.min.js"
{
  echo "graph-viewer.min.js is built by scripts/build_graph_viewer.sh from these packages of npm."
  for name in sigma graphology graphology-layout-forceatlas2 graphology-utils events; do
    version=$(node -p "require('./node_modules/$name/package.json').version")
    licence=$(find "node_modules/$name" -maxdepth 1 -iname 'licen*' | head -1)
    printf '\n==== %s %s ====\n\n' "$name" "$version"
    cat "$licence"
  done
} >"$target/graph-viewer.LICENSE.txt"
