defmodule Mote.PackageTest do
  # What is published: all that a build needs, nothing else, and it builds by itself.
  use ExUnit.Case, async: true

  alias Mote.Native.Library

  @package Mix.Project.config()[:package]

  # What a release writes before it is published.
  @made_later ["checksum-*.exs"]

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
    @describetag :tmp_dir
    @describetag timeout: 600_000

    setup %{tmp_dir: dir} do
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

      {:ok, copy: copy, app: Path.join(dir, "app"), cache: Path.join(dir, "cache")}
    end

    test "takes the precompiled library, and no cargo", %{copy: copy, app: app, cache: cache} do
      sum = archive(cache)
      list(copy, String.reverse(sum))
      assert {output, 1} = mix(app, cache, ["compile"])
      assert output =~ "the integrity check failed because the checksum of"

      list(copy, sum)
      program = "{:ok, m} = Mote.start_link(); IO.inspect(Mote.sponsors(m), label: \"sponsors\")"
      assert {output, 0} = mix(app, cache, ["run", "-e", program])
      assert output =~ "sponsors: [:main]"
      refute output =~ "Compiling crate"

      plot = "Mote.Measure.plot(Mote.Measure.Table.new([:param, :value], [[1, 1]]), \"x.svg\")"
      assert {output, 1} = mix(app, cache, ["run", "-e", plot])
      assert output =~ "Mote was built without plots: say `config :mote, plots: true`"
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

    test "says that nothing is precompiled for a computer, and builds", %{copy: copy, app: app, cache: cache} do
      put(Path.join(copy, "checksum-Elixir.Mote.Native.exs"), "%{\"other\" => \"sha256:00\"}\n")
      # No cargo may be needed to see it.
      put(Path.join(copy, "native/mote_nif/Cargo.toml"), "no manifest")
      assert {output, 1} = mix(app, cache, ["compile"])
      assert output =~ "Mote #{config()[:version]} has no precompiled #{artifact()}: building from source"
      assert output =~ "cargo could not build crate mote_nif"
    end

    test "says that Rust is too old", %{tmp_dir: dir, app: app, cache: cache} do
      put(Path.join(dir, "bin/rustc"), "#!/bin/sh\necho 'rustc 1.63.0 (4b91a6ea7 2022-08-08)'\n")
      File.chmod!(Path.join(dir, "bin/rustc"), 0o755)
      path = Path.join(dir, "bin") <> ":" <> System.get_env("PATH")
      assert {output, 1} = mix(app, cache, ["compile"], [{"PATH", path}])

      assert output =~
               ~r/Mote is built from source here, which needs Rust [\d.]+ or later, and this is 1\.63\.0: /
    end

    test "brings its words along for the formatter", %{app: app, cache: cache} do
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

      assert {_, 0} = mix(app, cache, ["format", "--check-formatted"])
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

  defp list(copy, sum) do
    put(Path.join(copy, "checksum-Elixir.Mote.Native.exs"), "%{\"#{artifact()}\" => \"sha256:#{sum}\"}\n")
  end

  defp artifact do
    {:ok, "nif-" <> target} = RustlerPrecompiled.target()
    Library.artifact(:mote_nif, config()[:version], target |> String.split("-", parts: 2) |> List.last())
  end

  defp mix(app, cache, args, more \\ []) do
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
