defmodule RustlerPrecompiled do
  @moduledoc """
  Takes a library that was compiled before, checks it, and loads it as the NIF of the module that says so.

  This is the fallback for machines without Hex. It takes archives from the cache directory and, unlike the real package,
  downloads none: where the archive is not there, the build ends with a line that says where it belongs.

      defmodule MyApp.Native do
        use RustlerPrecompiled,
          otp_app: :my_app,
          crate: "my_nif",
          base_url: "https://example.com/releases/download/v0.1.0",
          version: "0.1.0"
      end

  ## Options

    * `:otp_app` - the application whose `priv` directory takes the library. Required.
    * `:base_url`, `:version` - where archives are, and which. Required.
    * `:crate` - the name in the archive's name. Default: the application's.
    * `:force_build` - `true` builds with `Rustler` instead, and so does a version such as `0.1.0-dev`. Default: what
      `config :rustler_precompiled, :force_build, my_app: true` says.
    * `:targets`, `:nif_versions` - what there are archives of.
    * `:load_data` - the term given to the library when it loads. Default: `0`.

  All others are for `Rustler`. `config :rustler_precompiled, force_build_all: true` and
  `RUSTLER_PRECOMPILED_FORCE_BUILD_ALL=1` build everything.

  An archive is `lib<crate>-v<version>-nif-<NIF version>-<target>.so.tar.gz`. It is looked for in
  `RUSTLER_PRECOMPILED_GLOBAL_CACHE_PATH`, or else in the user's cache. The file `checksum-<module>.exs` in the package's
  directory is a map from such names to `"sha256:<hex>"`.
  """

  alias RustlerPrecompiled.{Archive, Target}

  @own [:base_url, :version, :force_build, :targets, :nif_versions, :max_retries, :variants]

  defmacro __using__(opts) do
    build =
      if Code.ensure_loaded?(Rustler),
        do: quote(do: use(Rustler, rustler_opts)),
        else: quote(do: raise("to build from source, add {:rustler, \">= 0.0.0\"} to the dependencies"))

    quote do
      opts = unquote(opts)

      configured =
        Application.compile_env(:rustler_precompiled, :force_build_all, false) ||
          Application.compile_env(:rustler_precompiled, [:force_build, opts[:otp_app]], nil)

      case RustlerPrecompiled.choose(__MODULE__, opts, configured) do
        {:build, rustler_opts} ->
          unquote(build)

        {:load, load_from, load_data} ->
          @on_load :load_rustler_precompiled
          @rustler_precompiled {load_from, load_data}

          @doc false
          def load_rustler_precompiled do
            # A version of this module that is no longer used would keep its library mapped.
            :code.purge(__MODULE__)
            {{app, path}, data} = @rustler_precompiled
            :erlang.load_nif(app |> Application.app_dir(path) |> String.to_charlist(), data)
          end

        {:error, message} ->
          raise message
      end
    end
  end

  @doc """
  What this computer is in names of archives: `{:ok, "nif-2.16-x86_64-unknown-linux-gnu"}`, or an error if it is none of
  the targets.
  """
  @spec target([String.t()], [String.t()]) :: {:ok, String.t()} | {:error, String.t()}
  def target(targets \\ Target.defaults(), nif_versions \\ Target.nif_versions()),
    do: Target.name(Target.here(), targets, nif_versions)

  @doc false
  def choose(module, opts, configured) do
    version = Keyword.fetch!(opts, :version)
    all? = System.get_env("RUSTLER_PRECOMPILED_FORCE_BUILD_ALL") in ["1", "true"]

    if all? or Keyword.get(opts, :force_build, configured) == true or "dev" in Version.parse!(version).pre do
      {:build, Keyword.drop(opts, @own)}
    else
      with {:error, reason} <- take(module, version, opts), do: {:error, message(reason, opts[:otp_app])}
    end
  end

  defp take(module, version, opts) do
    app = Keyword.fetch!(opts, :otp_app)
    base_url = Keyword.fetch!(opts, :base_url)
    targets = Keyword.get(opts, :targets, Target.defaults())

    with {:ok, target} <- target(targets, Keyword.get(opts, :nif_versions, ["2.15"])),
         name = "lib#{opts[:crate] || app}-v#{version}-#{target}",
         :ok <- Archive.install(module, app, name, base_url),
         do: {:load, {app, "priv/native/" <> name}, opts[:load_data] || 0}
  end

  defp message(reason, app) do
    """
    Error while taking a precompiled NIF: #{reason}.

    You can force the project to build from scratch with:

        config :rustler_precompiled, :force_build, #{app}: true
    """
  end
end
