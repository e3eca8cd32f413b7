defmodule Mote.Native.Library do
  # Where the libraries written in Rust come from, decided while the module that says `use Mote.Native.Library` compiles:
  # from the release's precompiled ones, or from cargo.
  #
  # 1. A library that is taken precompiled is listed, with its checksum, in a file of the package. There is none in a
  #    checkout, so a checkout of the project builds what is here.
  # 2. A library that is not listed for this computer is built from source, and so is any when `MOTE_BUILD=1`.
  # 3. A listed library whose checksum differs stops the build.
  # 4. Where Rust is missing or too old, one line says so before anything runs.
  @moduledoc false

  # Unix with 64 bits, of RustlerPrecompiled's default targets. The release workflow builds the same ones.
  @targets ~w(
    aarch64-apple-darwin
    aarch64-unknown-linux-gnu
    aarch64-unknown-linux-musl
    riscv64gc-unknown-linux-gnu
    x86_64-apple-darwin
    x86_64-unknown-linux-gnu
    x86_64-unknown-linux-musl
  )

  # OTP 24 and later.
  @nif_version "2.16"

  # Line numbers for debuggers and profilers: some 30 MB.
  @debug [
    {"CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only"},
    {"CARGO_PROFILE_RELEASE_STRIP", "none"}
  ]

  @cargo "native/Cargo.toml"

  @doc """
  Makes the library of `:crate`, a package in `native/`, and loads it with the module. It has those of its `:optional` features that
  the application's environment asks for, such as `config :mote, tls: true`; one that is precompiled has none.
  """
  defmacro __using__(options) do
    module = __CALLER__.module
    supported!(:os.type())
    {crate, optional} = {options[:crate], Keyword.get(options, :optional, [])}
    features = for name <- optional, Application.get_env(:mote, name, false), do: to_string(name)

    options = [
      otp_app: :mote,
      crate: to_string(crate),
      path: "native/#{crate}",
      env: env(),
      features: features
    ]

    # Mix compiles the module anew where these have changed.
    noted = for name <- optional, do: quote(do: Application.compile_env(:mote, unquote(name), false))

    if Code.ensure_loaded?(RustlerPrecompiled) do
      quote do
        unquote_splicing(noted)
        use RustlerPrecompiled, unquote(options ++ precompiled(module, crate, features != []))
      end
    else
      ready!(module)

      quote do
        unquote_splicing(noted)
        use Rustler, unquote(options)
      end
    end
  end

  @doc "Loads the library of a module that uses this one; raises `Mote.Error` if that is not possible, and says why."
  @spec load!(module) :: :ok
  def load!(module) do
    with {:error, reason} <- Code.ensure_loaded(module) do
      raise Mote.Error.new(
              :start,
              "the native library of #{inspect(module)} cannot be loaded: #{why(reason)}",
              module: module
            )
    end

    :ok
  end

  # In an escript, the directory that would have it is within the file of the escript.
  defp why(:on_load_failure) do
    priv = :code.priv_dir(:mote)

    cond do
      is_list(priv) and File.dir?(priv) ->
        "the system refuses it, and the warning in the log about its on_load function says why. It may have been built for another system, " <>
          "or it may be damaged: #{Path.join(priv, "native")}"

      true ->
        "#{if is_list(priv), do: priv, else: "the directory priv of Mote"} is not a directory. An escript cannot carry native libraries: " <>
          "run the program by a release (mix release), or by mix run"
    end
  end

  defp why(reason), do: "#{inspect(reason)}"

  @doc false
  def targets, do: @targets

  @doc false
  def nif_version, do: @nif_version

  @doc "The name of the file that has the library of `crate` for `target`."
  @spec artifact(atom, String.t(), String.t()) :: String.t()
  def artifact(crate, version, target),
    do: "lib#{crate}-v#{version}-nif-#{@nif_version}-#{target}.so.tar.gz"

  @doc "Why the library is built from source, or `nil` if it is taken precompiled."
  @spec reason_to_build(boolean, %{String.t() => String.t()}, String.t()) ::
          nil | :asked | :checkout | :unlisted
  def reason_to_build(asked?, checksums, artifact) do
    cond do
      asked? -> :asked
      checksums == %{} -> :checkout
      not is_map_key(checksums, artifact) -> :unlisted
      true -> nil
    end
  end

  @doc "Raises where Mote cannot run."
  @spec supported!({atom, atom}) :: :ok
  def supported!({:unix, _name}), do: :ok

  def supported!({_family, _name}) do
    Mix.raise("Mote does not support Windows: its threads need a Unix system, such as Linux in WSL 2")
  end

  @doc "Raises where `found`, the version of Rust, or `nil` without one, is less than `least`."
  @spec rust!(String.t() | nil, String.t()) :: :ok
  def rust!(found, least) do
    wanted = "Mote is built from source here, which needs Rust #{least} or later, and"

    cond do
      found == nil ->
        Mix.raise("#{wanted} there is none: please install it from https://rustup.rs")

      release(found) < release(least) ->
        Mix.raise("#{wanted} this is #{found}: please update it, or install it from https://rustup.rs")

      true ->
        :ok
    end
  end

  # A nightly counts as the release that it becomes.
  defp release(version) do
    [major, minor | _] = String.split(version, ".")
    {String.to_integer(major), String.to_integer(minor)}
  end

  # A user that has configured cargo, or that nothing is compiled, is responsible for it.
  defp ready!(module) do
    configured = Application.get_env(:mote, module, [])

    unless configured[:cargo] || configured[:skip_compilation?] do
      [_, least] = Regex.run(~r/^rust-version = "(.+)"$/m, File.read!(@cargo))
      rust!(rust(), least)
    end
  end

  # Cargo calls rustc. Either may be rustup's, which runs nothing until there is a toolchain.
  defp rust do
    with path when is_binary(path) <- System.find_executable("cargo"),
         {_, 0} <- System.cmd(path, ["--version"], stderr_to_stdout: true),
         path when is_binary(path) <- System.find_executable("rustc"),
         {"rustc " <> version, 0} <- System.cmd(path, ["--version"], stderr_to_stdout: true) do
      version |> String.split() |> hd()
    else
      _ -> nil
    end
  end

  # Without :force_build where nobody asks for it here, so that what is configured for RustlerPrecompiled holds.
  defp precompiled(module, crate, asked?) do
    config = Mix.Project.config()
    version = config[:version]
    artifact = artifact(crate, version, target())
    reason = reason_to_build(asked? or set?("MOTE_BUILD"), checksums(module), artifact)

    if reason == :unlisted,
      do: Mix.shell().info("Mote #{version} has no precompiled #{artifact}: building from source")

    if reason, do: ready!(module)

    [
      base_url: "#{config[:source_url]}/releases/download/v#{version}",
      version: version,
      targets: @targets,
      nif_versions: [@nif_version]
    ] ++ if(reason, do: [force_build: true], else: [])
  end

  # In words of Rust; of a computer that is none of the targets, an error's.
  defp target do
    # Called by a name of its own, because nothing of that package exists at run time.
    case Module.concat([RustlerPrecompiled]).target() do
      {:ok, "nif-" <> target} -> target |> String.split("-", parts: 2) |> List.last()
      {:error, _message} -> "unknown"
    end
  end

  # As RustlerPrecompiled reads it, from the directory of the package.
  defp checksums(module) do
    file = "checksum-#{module}.exs"
    if File.regular?(file), do: file |> Code.eval_file() |> elem(0), else: %{}
  end

  defp env, do: if(set?("MOTE_DEBUG"), do: @debug, else: [])

  defp set?(name), do: System.get_env(name) in ["1", "true"]
end
