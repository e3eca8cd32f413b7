defmodule Rustler.Compiler do
  @moduledoc """
  Runs cargo, puts the library into `priv`, and finds out which files it was made of.
  """

  alias Rustler.Compiler.Config

  # Neither build products nor what never becomes part of a library.
  @skipped ~w(target _build deps node_modules tests benches examples fuzz)

  @doc """
  Builds the crate of `config` and returns `config` with its sources filled in.

  Raises `Mix.Error` with one line when cargo is missing or fails; cargo's own words have been printed by then.
  """
  @spec build(Config.t()) :: Config.t()
  def build(%Config{skip_compilation?: true} = config), do: config

  def build(%Config{} = config) do
    cargo = find_cargo(config)
    crate_dir = Path.expand(config.path)

    unless File.regular?(Path.join(crate_dir, "Cargo.toml")) do
      Mix.raise("there is no Cargo.toml in #{config.path}, named by #{inspect(config.module)}")
    end

    workspace = workspace_root(cargo, crate_dir, config)
    target_dir = target_dir(config, workspace)

    run_cargo(cargo, crate_dir, workspace, target_dir, config)

    # The crate's own directory is not below its workspace when it is one by itself somewhere else.
    roots = [workspace, crate_dir] |> Enum.uniq() |> Enum.map(&Path.relative_to_cwd/1)
    sources = sources(roots)
    library = install(target_dir, sources, config)
    %{config | external_resources: [library | sources], watched: {roots, library, fingerprint(sources)}}
  end

  @doc """
  Whether source files came or went, or the library disappeared, since `build/1` gave `watched`.

  A change inside a known file needs no answer here: Mix follows external resources by itself.
  """
  @spec changed?({[Path.t()], Path.t(), binary} | nil) :: boolean
  def changed?(nil), do: false

  def changed?({roots, library, fingerprint}) do
    not File.exists?(library) or fingerprint(sources(roots)) != fingerprint
  end

  defp find_cargo(%{cargo: {:bin, path}}), do: path

  defp find_cargo(%{cargo: :system} = config) do
    System.find_executable("cargo") ||
      Mix.raise(
        "cargo is not installed, and #{inspect(config.module)} is written in Rust: see https://rustup.rs"
      )
  end

  defp workspace_root(cargo, crate_dir, config) do
    args = ["locate-project", "--workspace", "--message-format", "plain"]

    case System.cmd(cargo, args, cd: crate_dir, env: config.env, stderr_to_stdout: true) do
      {manifest, 0} -> manifest |> String.trim() |> Path.dirname()
      {output, _status} -> fail(output, config)
    end
  end

  defp target_dir(config, workspace) do
    cond do
      config.target_dir -> Path.expand(config.target_dir)
      dir = System.get_env("CARGO_TARGET_DIR") -> Path.expand(dir, workspace)
      true -> Path.join(workspace, "target")
    end
  end

  defp run_cargo(cargo, crate_dir, workspace, target_dir, config) do
    args =
      ["build", "--package", config.crate, "--target-dir", target_dir] ++
        if(config.mode == :release, do: ["--release"], else: []) ++
        if(config.default_features, do: [], else: ["--no-default-features"]) ++
        if(config.features == [], do: [], else: ["--features", Enum.join(config.features, ",")]) ++
        if(File.exists?(Path.join(workspace, "Cargo.lock")), do: ["--locked"], else: [])

    Mix.shell().info("Compiling crate #{config.crate} in #{config.mode} mode (#{config.path})")

    # A first build takes minutes, so its progress goes out line by line instead of at the end.
    output = IO.stream(:stdio, :line)
    options = [cd: crate_dir, env: config.env, stderr_to_stdout: true, into: output]

    case System.cmd(cargo, args, options) do
      {_output, 0} -> :ok
      {_output, _status} -> fail("", config)
    end
  end

  defp fail(output, config) do
    IO.write(output)

    Mix.raise(
      "cargo could not build crate #{config.crate} for #{inspect(config.module)}: see its messages above"
    )
  end

  # Returns the path of the library in `priv`.
  defp install(target_dir, sources, config) do
    {prefix, built, loaded} =
      case :os.type() do
        {:win32, _} -> {"", ".dll", ".dll"}
        {:unix, :darwin} -> {"lib", ".dylib", ".so"}
        {:unix, _} -> {"lib", ".so", ".so"}
      end

    name = String.replace(config.crate, "-", "_")
    from = Path.join([target_dir, to_string(config.mode), prefix <> name <> built])
    {_app, load_from} = config.load_from
    to = load_from <> loaded

    unless File.exists?(from) do
      Mix.raise(
        "crate #{config.crate} built no #{Path.basename(from)}: does it say crate-type = [\"cdylib\"]?"
      )
    end

    File.mkdir_p!(Path.dirname(to))
    unless same_content?(from, to), do: replace(from, to, newest(sources))
    Mix.Project.build_structure()
    to
  end

  defp same_content?(a, b) do
    case {File.stat(a), File.stat(b)} do
      {{:ok, %{size: size}}, {:ok, %{size: size}}} -> File.read!(a) == File.read!(b)
      _ -> false
    end
  end

  # The old file may be mapped into a running BEAM, which would crash if its bytes changed. So the new one gets
  # an inode of its own and takes over the name in one step, also while another Mix does the same. It counts as
  # old as its sources: younger than the start of this compilation, Mix would compile the module once more.
  defp replace(from, to, mtime) do
    fresh = "#{to}.#{System.pid()}"
    File.cp!(from, fresh)
    File.touch!(fresh, mtime)

    case :os.type() do
      {:win32, _} -> File.rm(to)
      _ -> :ok
    end

    File.rename!(fresh, to)
  end

  defp newest(sources) do
    sources |> Enum.map(&File.stat!(&1, time: :posix).mtime) |> Enum.max()
  end

  defp sources(roots) do
    roots |> Enum.flat_map(&walk/1) |> Enum.uniq() |> Enum.sort()
  end

  defp walk(dir) do
    case File.ls(dir) do
      {:ok, names} -> Enum.flat_map(names, &visit(dir, &1))
      {:error, _reason} -> []
    end
  end

  defp visit(dir, name) do
    path = Path.join(dir, name)

    cond do
      File.dir?(path) -> if name in @skipped or hidden?(name), do: [], else: walk(path)
      source?(name) -> [path]
      true -> []
    end
  end

  defp hidden?(name), do: String.starts_with?(name, ".") and name != ".cargo"

  defp source?("Cargo.lock"), do: true
  defp source?(name), do: Path.extname(name) in [".rs", ".toml"]

  defp fingerprint(sources), do: :erlang.md5(Enum.join(sources, "\n"))
end
