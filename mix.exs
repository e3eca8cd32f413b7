defmodule Mote.MixProject do
  use Mix.Project

  @version "0.1.0"

  # Where releases are, with the precompiled libraries of each.
  @source_url "https://github.com/mote-beam/mote"
  @description "Millions of 16-byte micro-actors inside a BEAM node: written in Elixir, run by Rust"

  def project do
    [
      app: :mote,
      version: @version,
      elixir: "~> 1.14",
      name: "Mote",
      description: @description,
      source_url: @source_url,
      elixirc_paths: elixirc_paths(Mix.env()),
      start_permanent: Mix.env() == :prod,
      deps: deps(),
      aliases: aliases(),
      docs: &docs/0,
      package: package()
    ]
  end

  def application do
    [
      extra_applications: [:logger, crypto(Mix.env()), tls(Mix.env())],
      mod: {Mote.Application, []}
    ]
  end

  # Read by Elixir 1.15 and later.
  def cli do
    [preferred_envs: [ci: :test, docs: :docs, "hex.publish": :docs]]
  end

  # Examples are for whoever works here: a dependency is built without them. The others in examples/ are projects of their own.
  @examples ~w(examples/entity_store examples/file_indexer examples/secure_socket examples/store_cache)

  defp elixirc_paths(:test), do: ["lib", "test/support" | @examples]
  defp elixirc_paths(:dev), do: ["lib" | @examples]
  defp elixirc_paths(_env), do: ["lib"]

  # The examples need it; of the library only the dashboard does.
  defp crypto(env), do: if(env in [:dev, :test], do: :crypto, else: {:crypto, :optional})

  # Clients with TLS trust those that the system trusts; tests compare with Erlang's own TLS.
  defp tls(env), do: if(env == :test, do: :ssl, else: {:public_key, :optional})

  # A Hex dependency stops Mix at once where Hex is not installed, even one that the current environment
  # does not use. So the choice is made when this file runs, and never by the environment alone.
  defp deps do
    case System.get_env("MOTE_DEPS") do
      "hex" -> hex_deps()
      "offline" -> offline_deps()
      nil -> if Code.ensure_loaded?(Hex), do: hex_deps(), else: offline_deps()
      other -> Mix.raise("MOTE_DEPS must be \"hex\" or \"offline\", got: #{inspect(other)}")
    end
  end

  # Both of the first: the library comes precompiled, and where there is none for a computer, it is built without further ado.
  defp hex_deps do
    [
      {:rustler_precompiled, "~> 0.8", runtime: false},
      {:rustler, rustler_requirement(), runtime: false},
      {:telemetry, "~> 1.0"},
      {:stream_data, "~> 1.0", only: [:dev, :test]},
      {:benchee, "~> 1.0", only: [:dev, :test, :bench]},
      {:ex_doc, "~> 0.31", only: :docs, runtime: false}
    ] ++ if(Mix.env() in [:dev, :test], do: stand_ins(), else: optional_deps())
  end

  # What users may have, for `Mote.Kino` and `Mote.LiveDashboard`.
  defp optional_deps do
    [{:kino, "~> 0.7", optional: true}, {:phoenix_live_dashboard, "~> 0.8", optional: true}]
  end

  # Whoever works here needs no Phoenix for these two modules. The stand-ins are not optional: bench/ and some examples share the
  # build, and Mix takes away what was compiled with an optional dependency that these projects do not have.
  defp stand_ins do
    for {name, requirement, _} <- optional_deps(),
        do: {name, requirement, path: "offline/#{name}", only: [:dev, :test]}
  end

  # The package only builds the crate and loads it, so its version need not be that of the crate. From 0.37 on it needs
  # Elixir 1.15.
  defp rustler_requirement do
    if Version.match?(System.version(), "~> 1.15"), do: "~> 0.36", else: "~> 0.36.0"
  end

  # Stand-ins of the same names for machines that cannot reach Hex: see offline/README.md.
  defp offline_deps do
    [
      {:rustler_precompiled, "~> 0.8", path: "offline/rustler_precompiled", runtime: false},
      {:rustler, "~> 0.36", path: "offline/rustler", runtime: false},
      {:telemetry, "~> 1.0", path: "offline/telemetry"},
      {:stream_data, "~> 1.0", path: "offline/stream_data", only: [:dev, :test]},
      {:benchee, "~> 1.0", path: "offline/benchee", only: [:dev, :test, :bench]}
    ] ++ stand_ins()
  end

  defp aliases do
    [
      "rust.fmt": ["cmd --cd native cargo fmt --all"],
      "rust.lint": ["cmd --cd native cargo clippy --workspace --all-targets --locked -- -D warnings"],
      # The NIF's symbols exist only inside the BEAM, so its crate does not link as a test program.
      "rust.test": ["cmd --cd native cargo test -p mote_vm -p mote_jit -p mote_baseline --locked"],
      "mote.bench": of_bench("mote.bench"),
      "mote.demo": of_bench("mote.demo"),
      "mote.report": of_bench("mote.report"),
      ci: ["cmd bin/test"]
    ]
  end

  # A task of the project in bench/, which is built first.
  defp of_bench(task), do: ["run --no-start bench/load.exs", task]

  defp package do
    [
      licenses: ["Apache-2.0"],
      links: %{"GitHub" => @source_url, "Changelog" => "https://hexdocs.pm/mote/changelog.html"},
      # Of the library's crates what builds them; cargo wants the benches to be there because a manifest names them. The
      # checksums are those of the precompiled libraries, written when a release is made.
      files: ~w(
        lib guides checksum-*.exs
        native/Cargo.toml native/Cargo.lock native/mote_{vm,jit,nif,plot,tls}/Cargo.toml
        native/mote_{vm,jit,nif,plot,tls}/src native/mote_jit/benches/*.rs
        .formatter.exs mix.exs README.md CHANGELOG.md LICENSE
      )
    ]
  end

  # Called when the project is compiled.
  defp docs do
    [
      main: "readme",
      source_ref: "v#{@version}",
      extras:
        ["README.md", "CHANGELOG.md", "LICENSE"] ++
          guides() ++ linked(),
      assets: %{"guides/assets" => "assets", "examples/epidemic/assets" => "assets"},
      groups_for_modules: groups_for_modules(),
      groups_for_extras: [
        Internals: ~r"^guides/internals/",
        Notebooks: ~r"^guides/[^/]+[.]livemd$",
        Guides: ~r"^guides/[^/]+$",
        Benchmarks: ~r"^bench/",
        Examples: ~r"^examples/"
      ],
      skip_undefined_reference_warnings_on: ["CHANGELOG.md"],
      skip_code_autolink_to: apply(Mote.Behaviour.Listing, :unlinked, [])
    ]
  end

  defp groups_for_modules do
    [
      "Writing behaviours": [
        Mote.Behaviour,
        Mote.Directory,
        Mote.Shards,
        ~r/^Mote.Library/,
        Mote.Total,
        Mote.Vector,
        Mote.Integer,
        Mote.Turn,
        Mote.Abort,
        Mote.Raised,
        Mote.CompileError
      ],
      Machines: [
        Mote.Machine,
        Mote.Durable,
        Mote.Replay,
        Mote.Image,
        Mote.Sponsor,
        Mote.Address,
        Mote.Customer,
        Mote.Reload,
        Mote.Timer,
        Mote.Function,
        Mote.Error
      ],
      "Crossing the boundary": [Mote.Ask, Mote.Outbox, ~r/^Mote.Future/],
      "Looking inside": [
        ~r/^Mote.Trace/,
        Mote.Counters,
        Mote.Dashboard,
        Mote.Graph,
        Mote.IEx,
        Mote.Inspection,
        Mote.Kino,
        Mote.LiveDashboard,
        Mote.Telemetry,
        Mote.Uncommitted
      ],
      Measuring: [~r/^Mote.Measure/],
      Testing: [~r/^Mote.Test/, ~r/^Mote.Reference/]
    ]
  end

  # First those for newcomers, in the order of reading.
  defp guides do
    first =
      for name <- ~w(ten-minutes.md thinking.md from-genserver.md cheatsheet.cheatmd), do: "guides/" <> name

    first ++ (Enum.sort(Path.wildcard("guides/**/*.{md,livemd}")) -- first)
  end

  # What the README leads to; each is a page of its own name.
  defp linked do
    [
      "bench/RESULTS.md",
      {:"bench/README.md", filename: "benchmarks"},
      {:"examples/secure_socket/README.md", filename: "secure_socket"},
      {:"examples/entity_store/README.md", filename: "entity_store"},
      {:"examples/file_indexer/README.md", filename: "file_indexer"},
      {:"examples/store_cache/README.md", filename: "store_cache"},
      {:"examples/epidemic/README.md", filename: "epidemic"},
      {:"examples/events/README.md", filename: "events"},
      {:"examples/world/README.md", filename: "world"},
      {:"examples/cluster/README.md", filename: "cluster"},
      {:"examples/broker/README.md", filename: "broker"},
      {:"offline/README.md", filename: "offline"}
    ]
  end
end
