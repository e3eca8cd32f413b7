defmodule Mote.PackageTest do
  # What is published: all that a build needs, nothing else, and it builds by itself.
  use ExUnit.Case, async: true

  alias Mote.Native.Library

  @package Mix.Project.config()[:package]

  # What a release writes before it is published.
  @made_later ["checksum-*.exs"]

  @checksums "checksum-Elixir.Mote.Native.exs"

  # Starts a machine, and draws.
  @program """
  {:ok, machine} = Mote.start_link()
  IO.inspect(Mote.sponsors(machine), label: "sponsors")
  IO.inspect(Enum.filter([Mote.Kino, Mote.LiveDashboard], &Code.ensure_loaded?/1), label: "optional")
  Mote.Measure.plot(Mote.Measure.Table.new([:param, :value], [[1, 1]]), "x.svg")
  """

  # A copy of the package, and a project that depends on it. All of it is compiled once: what tests change afterwards of the copy
  # lets `Mote.Native` be compiled anew, which fails.
  setup_all do
    dir = Path.expand("tmp/#{inspect(__MODULE__)}")
    File.rm_rf!(dir)
    copy = Path.join(dir, "mote")
    for file <- files(), do: put(Path.join(copy, file), File.read!(file))
    # Not of the package: where Hex would put the dependencies.
    File.cp_r!("offline", Path.join(copy, "offline"))

    put(Path.join(dir, "app/mix.exs"), """
    defmodule App.MixProject do
      use Mix.Project
      def project, do: [app: :app, version: "0.1.0", deps: [{:mote, path: "../mote"}]]
    end
    """)

    context = %{dir: dir, copy: copy, app: Path.join(dir, "app"), cache: Path.join(dir, "cache")}
    sum = archive(context.cache)
    put(Path.join(copy, @checksums), checksums(artifact(), sum))
    {:ok, Map.merge(context, %{sum: sum, ran: mix(context, ["run", "-e", @program])})}
  end

  defp config, do: Mix.Project.config()

  # As Hex expands them: a directory stands for all that is in it.
  defp files do
    for pattern <- @package[:files],
        path <- Path.wildcard(pattern, match_dot: true),
        file <- if(File.dir?(path), do: Path.wildcard(path <> "/**"), else: [path]),
        File.regular?(file),
        uniq: true,
        do: file
  end

  test "each line of the list finds files" do
    for pattern <- @package[:files] -- @made_later,
        do: assert(Path.wildcard(pattern, match_dot: true) != [], "nothing matches #{pattern}")
  end

  test "crates come with their sources and the lock, without tests, fuzzing and what builds leave behind" do
    files = files()
    assert "native/Cargo.lock" in files
    for crate <- ~w(vm jit nif plot), do: assert("native/mote_#{crate}/Cargo.toml" in files)
    refute Enum.any?(files, &(&1 =~ "mote_baseline")), "what benchmarks compare with is not for users"

    for file <- files, part <- ~w(bench/ /tests/ /fuzz/ /support/ /target/ priv/ .so) do
      refute String.contains?(file, part), "#{file} does not belong into the package"
    end

    # A manifest names them, and cargo wants to see what a manifest names.
    manifest = File.read!("native/mote_jit/Cargo.toml")
    named = for [_, name] <- Regex.scan(~r/\[\[bench\]\]\nname = "(\w+)"/, manifest), do: name
    benches = for "native/mote_jit/benches/" <> name <- files, do: Path.rootname(name)
    assert Enum.sort(benches) == Enum.sort(named)
  end

  test "the package describes itself" do
    assert String.length(config()[:description]) in 1..299
    assert @package[:licenses] == ["Apache-2.0"]
    for {_name, link} <- @package[:links], do: assert(%URI{scheme: "https"} = URI.parse(link))
    # Each release, by its tag.
    assert config()[:docs].()[:source_ref] == "v" <> config()[:version]
  end

  test "the least Rust is the same wherever it is said" do
    [_, least] = Regex.run(~r/^rust-version = "(.+)"$/m, File.read!("native/Cargo.toml"))
    assert File.read!("bin/lib/setup.sh") =~ "readonly LEAST_RUST=#{least}.0\n"
    assert File.read!("README.md") =~ "[Rust](https://rustup.rs) #{least} or later"
  end

  describe "a copy of the package" do
    @describetag timeout: 600_000

    test "takes the precompiled library, and no cargo", %{ran: {output, status}} do
      refute output =~ "Compiling crate"
      assert output =~ "sponsors: [:main]"
      assert status == 1 and output =~ "Mote was built without plots: say `config :mote, plots: true`"
    end

    test "has no module for packages that are not there, and no warning of them", %{ran: {output, _}} do
      assert output =~ "optional: []"
      refute output =~ "kino" or output =~ "live_dashboard"
    end

    test "takes no library but the one that was published", %{sum: sum} = context do
      replace(context, @checksums, checksums(artifact(), String.reverse(sum)))
      assert {output, 1} = mix(context, ["compile"])
      assert output =~ "the integrity check failed because the checksum of"
    end

    test "is a whole cargo workspace", %{copy: copy} do
      # The lock fits although it knows of crates that stay behind.
      for args <- [
            ~w(metadata --no-deps --format-version 1),
            ~w(tree --package mote_nif --edges normal,build)
          ] do
        options = [cd: Path.join(copy, "native"), stderr_to_stdout: true]
        assert {_, 0} = System.cmd("cargo", args ++ ~w(--locked --offline), options)
      end
    end

    test "says that nothing is precompiled for a computer, and builds", context do
      replace(context, @checksums, checksums("other", "00"))
      # No cargo may be needed to see it.
      replace(context, "native/mote_nif/Cargo.toml", "no manifest")
      assert {output, 1} = mix(context, ["compile"])
      assert output =~ "Mote #{config()[:version]} has no precompiled #{artifact()}: building from source"
      assert output =~ "cargo could not build crate mote_nif"
    end

    test "says that Rust is too old", %{dir: dir} = context do
      put(Path.join(dir, "bin/rustc"), "#!/bin/sh\necho 'rustc 1.63.0 (4b91a6ea7 2022-08-08)'\n")
      File.chmod!(Path.join(dir, "bin/rustc"), 0o755)
      path = Path.join(dir, "bin") <> ":" <> System.get_env("PATH")
      replace(context, @checksums, "%{}\n")
      assert {output, 1} = mix(context, ["compile"], [{"PATH", path}])

      assert output =~
               ~r/Mote is built from source here, which needs Rust [\d.]+ or later, and this is 1\.63\.0: /
    end

    test "brings its words along for the formatter", %{app: app} = context do
      put(Path.join(app, ".formatter.exs"), ~s([inputs: ["lib/*.ex"], import_deps: [:mote]]\n))

      put(Path.join(app, "lib/echo.ex"), """
      defmodule Echo do
        use Mote.Behaviour

        defactor echo() do
          {customer, word} -> send customer, word
          :end -> become sink()
        end
      end
      """)

      assert {_, 0} = mix(context, ["format", "--check-formatted"])
    end
  end

  # The archive that a release would have for this computer, of the library that is here; its checksum.
  defp archive(cache) do
    path = Path.join(cache, artifact())
    name = artifact() |> String.replace_suffix(".tar.gz", "") |> String.to_charlist()
    File.mkdir_p!(cache)
    library = File.read!("priv/native/mote_nif.so")
    :ok = :erl_tar.create(String.to_charlist(path), [{name, library}], [:compressed])
    :sha256 |> :crypto.hash(File.read!(path)) |> Base.encode16(case: :lower)
  end

  defp checksums(artifact, sum), do: "%{\"#{artifact}\" => \"sha256:#{sum}\"}\n"

  # Until the end of the test.
  defp replace(%{copy: copy}, file, text) do
    path = Path.join(copy, file)
    was = File.read!(path)

    on_exit(fn ->
      put(path, was)
      compile_anew(copy)
    end)

    put(path, text)
    compile_anew(copy)
  end

  # Mix looks at what is in a file whose time is another.
  defp compile_anew(copy) do
    path = Path.join(copy, "lib/mote/native.ex")
    put(path, File.read!(path) <> "# #{System.unique_integer([:positive])}\n")
  end

  defp artifact do
    {:ok, "nif-" <> target} = RustlerPrecompiled.target()
    Library.artifact(:mote_nif, config()[:version], target |> String.split("-", parts: 2) |> List.last())
  end

  defp mix(%{app: app, cache: cache}, args, more \\ []) do
    env = [
      {"MIX_ENV", "dev"},
      {"MIX_BUILD_PATH", nil},
      {"MIX_EXS", nil},
      {"MOTE_DEPS", "offline"},
      {"MOTE_BUILD", nil},
      {"RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH", cache} | more
    ]

    System.cmd("mix", args, cd: app, env: env, stderr_to_stdout: true)
  end

  defp put(path, text) do
    File.mkdir_p!(Path.dirname(path))
    File.write!(path, text)
  end
end
