defmodule Kino.JS do
  @moduledoc """
  The files that a widget brings along for the browser. When its module is compiled they are packed into an archive in the
  `priv` directory of this application.
  """

  defmacro __using__(_opts) do
    quote do
      import Kino.JS, only: [asset: 2]
      Module.register_attribute(__MODULE__, :inline_assets, accumulate: true)
      @before_compile Kino.JS
    end
  end

  @doc "Names a file, and its content, which is calculated when the module is compiled."
  defmacro asset(name, do: content) do
    quote do: @inline_assets({unquote(name), unquote(content)})
  end

  defmacro __before_compile__(env) do
    assets = Module.get_attribute(env.module, :inline_assets)

    unless List.keymember?(assets, "main.js", 0),
      do: IO.warn(~s(#{inspect(env.module)} has no asset "main.js"), Macro.Env.stacktrace(env))

    hash =
      assets
      |> Enum.sort()
      |> :erlang.term_to_binary()
      |> :erlang.md5()
      |> Base.encode32(case: :lower, padding: false)

    path = __archive_path__(env.module, hash)
    File.rm_rf!(Path.dirname(path))
    File.mkdir_p!(Path.dirname(path))
    files = for {name, content} <- assets, do: {String.to_charlist(name), content}
    :ok = :erl_tar.create(String.to_charlist(path), files, [:compressed])

    quote do
      @doc false
      def __assets_info__ do
        path = Kino.JS.__archive_path__(__MODULE__, unquote(hash))
        %{archive_path: path, js_path: "main.js", hash: unquote(hash), cdn_url: nil}
      end
    end
  end

  @doc false
  def __archive_path__(module, hash) do
    Path.join([:code.priv_dir(:kino), "assets", Enum.join(Module.split(module), "_"), hash <> ".tar.gz"])
  end
end
