# Index with octocode in $XDG_DATA_HOME, with the models and the configuration of the user.
set -e
mkdir -p "$XDG_DATA_HOME/octocode"
for name in fastembed sentencetransformer config.toml; do
    own="$HOME/.local/share/octocode/$name"
    if [ "$name" != config.toml ]; then mkdir -p "$own"; fi
    if [ -e "$own" ]; then ln -sfn "$own" "$XDG_DATA_HOME/octocode/$name"; fi
done
exec octocode index
